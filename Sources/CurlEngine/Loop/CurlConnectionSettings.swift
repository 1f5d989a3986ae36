import CMartletShim

/// What a client says about all its connections, as libcurl takes it.
package struct CurlConnectionSettings: Sendable {
  package let unixSocket: String?
  /// Whether connections have no address.
  package var hasUnixSocket: Bool { unixSocket != nil }
  /// As `CURLOPT_INTERFACE` takes it.
  package let interface: String?
  /// How old a connection may get, in seconds; 0 for no limit.
  package let maximumAge: Int
  /// Whether connections are kept for the next request.
  package let isKept: Bool
  /// How long the loop waits for something to do before it ends, in microseconds.
  package let idleLifetime: Int64
  /// The most connections with one host.
  package let perHost: Int
  package let total: Int
  package let tls: CurlTLSSettings
  /// Why an address may not be connected to, for its 4 or 16 octets, or `nil` if it may; all may without it.
  package let addressRefusal: (@Sendable ([UInt8]) -> String?)?
  package let answerPace: AnswerPace
  package let receiveMarks: ReceiveMarks

  package init(
    unixSocket: String?, interface: String?, maximumAge: Int, isKept: Bool, idleLifetime: Int64, perHost: Int,
    total: Int, tls: CurlTLSSettings, addressRefusal: (@Sendable ([UInt8]) -> String?)?, answerPace: AnswerPace,
    receiveMarks: ReceiveMarks
  ) {
    self.unixSocket = unixSocket
    self.interface = interface
    self.maximumAge = maximumAge
    self.isKept = isKept
    self.idleLifetime = idleLifetime
    self.perHost = perHost
    self.total = total
    self.tls = tls
    self.addressRefusal = addressRefusal
    self.answerPace = answerPace
    self.receiveMarks = receiveMarks
  }

  /// Sets what differs from libcurl's own, on a handle that was just reset; returns libcurl's code.
  func apply(to easy: UnsafeMutableRawPointer) -> CInt {
    var code = martlet_easy_set_number(easy, CInt(martlet_opt_max_age_conn), maximumAge)
    if code == 0, !isKept { code = martlet_easy_set_number(easy, CInt(martlet_opt_forbid_reuse), 1) }
    if code == 0, let unixSocket {
      code = martlet_easy_set_text(easy, CInt(martlet_opt_unix_socket_path), unixSocket)
    }
    if code == 0, let interface { code = martlet_easy_set_text(easy, CInt(martlet_opt_interface), interface) }
    return code
  }
}
