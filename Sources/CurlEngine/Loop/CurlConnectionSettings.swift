import CMartletShim

/// A client's connection settings, in the form that libcurl accepts.
package struct CurlConnectionSettings: Sendable {
  package let unixSocket: String?
  /// Whether connections have no address.
  package var hasUnixSocket: Bool { unixSocket != nil }
  /// In the form that `CURLOPT_INTERFACE` accepts.
  package let interface: String?
  /// The maximum age of a connection in seconds; 0 for no limit.
  package let maximumAge: Int
  /// Whether connections are kept for the next request.
  package let isKept: Bool
  /// The time after which an idle loop ends, in microseconds.
  package let idleLifetime: Int64
  /// The maximum number of connections per host; 0 for no limit.
  package var perHost: Int
  package var total: Int
  package let tls: CurlTLSSettings
  /// Returns why an address is refused, given its 4 or 16 octets, or `nil`.
  ///
  /// Without it, all addresses are allowed.
  package let addressRefusal: (@Sendable ([UInt8]) -> String?)?
  package let answerPace: InlineWaitHeuristic
  package let receiveMarks: ReceiveLowWaterMarks

  package init(
    unixSocket: String?, interface: String?, maximumAge: Int, isKept: Bool, idleLifetime: Int64, perHost: Int,
    total: Int, tls: CurlTLSSettings, addressRefusal: (@Sendable ([UInt8]) -> String?)?,
    answerPace: InlineWaitHeuristic,
    receiveMarks: ReceiveLowWaterMarks
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

  /// Applies the settings to a handle that was just reset.
  func apply(to options: inout EasyOptions) {
    options.set(martlet_opt_max_age_conn, maximumAge)
    if !isKept { options.set(martlet_opt_forbid_reuse, 1) }
    if let unixSocket { options.set(martlet_opt_unix_socket_path, unixSocket) }
    if let interface { options.set(martlet_opt_interface, interface) }
  }
}
