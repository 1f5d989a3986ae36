import MartletBase
import CMartletShim

/// Reads what a proxy answers to CONNECT, for the challenges in it.
struct CurlConnectAnswer {
  private var reader: ResponseHeadReader? = ResponseHeadReader()
  private var bytes = 0
  private var lines = 0

  /// Whether the head has no end: not every libcurl has a limit of its own.
  var isTooLarge: Bool { bytes > ResponseHeadReader.maximumBytes || lines > ResponseHeadReader.maximumFields }

  /// Reads one line with its end, says what it asks for, and whether libcurl is to read on.
  ///
  /// libcurl would read the body of a refusal to its end, byte by byte, and do nothing else of the loop meanwhile.
  mutating func read(
    _ line: UnsafeBufferPointer<UInt8>, _ handle: CurlHandle, _ route: CurlRoute, _ sink: (any CurlProxySink)?
  ) -> Bool {
    // TLS within that is not begun yet.
    if route.proxy?.kind == .https { handle.proxyTLS = martlet_easy_tls(handle.easy) }
    if let (status, fields) = read(line) { sink?.refused(status, fields) }
    let isEnd = line.count <= 2 && (line.first == 0x0D || line.first == 0x0A)
    return !isTooLarge && !(isEnd && route.refusal(handle.easy) != nil)
  }

  /// Reads one line with its end; returns status and fields of a whole head, if it asks for credentials.
  mutating func read(_ line: UnsafeBufferPointer<UInt8>) -> (Int, ReceivedFields)? {
    bytes += line.count
    lines += 1
    do {
      guard case .final(let head)? = try reader?.read(line) else { return nil }
      reader = nil
      // 401 is what tinyproxy says to wrong credentials.
      return head.status == 407 || head.status == 401 ? (head.status, head.fields) : nil
    } catch {
      // libcurl has understood its status, and that decides.
      reader = nil
      return nil
    }
  }
}
