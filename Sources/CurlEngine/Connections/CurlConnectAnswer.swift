import MartletBase
import CMartletShim

/// Reads a proxy's response to CONNECT for its challenges.
///
/// A class, because hardly any transfer has one.
final class CurlConnectAnswer {
  private var reader: ResponseHeadReader? = ResponseHeadReader()
  private var bytes = 0
  private var lines = 0

  /// Whether the head exceeds a limit; not every libcurl has its own.
  var isTooLarge: Bool { bytes > ResponseHeadReader.maximumBytes || lines > ResponseHeadReader.maximumFields }

  /// Reads one line with its end; returns whether libcurl is to continue.
  ///
  /// Reports a challenge to `sink`. libcurl would read the body of a refusal to its end, byte by byte, and block the
  /// loop in the meantime.
  func read(
    _ line: UnsafeBufferPointer<UInt8>, _ handle: CurlHandle, _ route: CurlRoute, _ sink: (any CurlProxySink)?
  ) -> Bool {
    // TLS inside the tunnel has not begun yet.
    if route.proxy?.kind == .https { handle.proxyTLS = martlet_easy_tls(handle.easy) }
    if let (status, fields) = read(line) { sink?.refused(status, fields) }
    let isEnd = line.count <= 2 && (line.first == 0x0D || line.first == 0x0A)
    return !isTooLarge && !(isEnd && route.refusal(handle.easy) != nil)
  }

  /// Reads one line with its end; returns a complete head that contains a challenge.
  func read(_ line: UnsafeBufferPointer<UInt8>) -> (Int, ReceivedFields)? {
    bytes += line.count
    lines += 1
    // After a malformed line, the status that libcurl has parsed decides.
    guard let step = try? reader?.read(line) else {
      reader = nil
      return nil
    }
    guard case .final(let head) = step else { return nil }
    reader = nil
    // tinyproxy responds to wrong credentials with 401.
    return head.status == 407 || head.status == 401 ? (head.status, head.fields) : nil
  }
}
