import MartletBase
import CMartletShim

/// A handle of libcurl that finds all addresses of a host, and connects to none.
///
/// libcurl does not say which addresses it knows. The scout refuses each one, so libcurl proceeds to the next. A
/// transfer has just looked the name up, so the addresses are in libcurl's cache, unless it keeps none
/// (``CurlConnectionSettings/shufflesAddresses``).
final class AddressScout {
  private(set) var easy: UnsafeMutableRawPointer?
  /// The transfer that needs the addresses.
  let transfer: CurlTransfer
  private(set) var found: [SocketAddress] = []
  private var seen = 0

  init?(for transfer: CurlTransfer) {
    self.transfer = transfer
    easy = martlet_scout_new(
      transfer.peer,
      { scout, _, address in
        if let scout, let address, let found = SocketAddress(address) {
          Unmanaged<AddressScout>.fromOpaque(scout)._withUnsafeGuaranteedRef { $0.found.append(found) }
        }
        return -1  // CURL_SOCKET_BAD
      }, Unmanaged.passUnretained(self).toOpaque())
    if easy == nil { return nil }
  }

  deinit { if let easy { martlet_easy_free(easy) } }

  /// Makes libcurl proceed to the next address; before 8.4.0 it would wait.
  func proceed() {
    guard let easy, found.count > seen else { return }
    seen = found.count
    _ = martlet_easy_pause(easy, false, true)
    _ = martlet_easy_pause(easy, false, false)
  }
}

extension CurlTransfer {
  /// The URL of the host and port that the transfer's connection leads to.
  var peer: String {
    guard let proxy = route?.proxy, let start = proxy.address.firstRange(of: "://")?.upperBound else {
      return "http://\(job.origin.host):\(job.origin.port)/"
    }
    return "http://\(proxy.address[start...])/"
  }
}
