import CMartletShim

/// A client's connection settings, in the form that libcurl accepts.
package struct CurlConnectionSettings: Sendable {
  package let unixSocket: String?
  /// Whether connections have no address.
  package var hasUnixSocket: Bool { unixSocket != nil }
  /// In the form that `CURLOPT_INTERFACE` accepts.
  package let interface: String?
  /// The maximum idle time of a connection in seconds.
  package let maximumIdleTime: Int
  /// The age from which a connection serves no new request, in microseconds; `nil` for none.
  package let maximumAge: Int64?
  /// Whether each connection looks its host up, and tries the addresses in a random order.
  package let shufflesAddresses: Bool
  /// Whether connections are kept for the next request.
  package let isKept: Bool
  /// The time after which an idle loop ends, in microseconds.
  package let idleLifetime: Int64
  /// The maximum number of connections per host that libcurl enforces; 0 for no limit.
  package var perHost: Int
  /// The maximum number of connections to an origin, including tunnels; 0 for no limit.
  package let hostLimit: Int
  package var total: Int
  package let tls: CurlTLSSettings
  /// Returns why an address is refused, given its 4 or 16 octets, or `nil`.
  ///
  /// Without it, all addresses are allowed.
  package let addressRefusal: (@Sendable ([UInt8]) -> String?)?
  package let answerPace: InlineWaitHeuristic
  package let receiveMarks: ReceiveLowWaterMarks

  package init(
    unixSocket: String?, interface: String?, maximumIdleTime: Int, maximumAge: Int64?, shufflesAddresses: Bool,
    isKept: Bool, idleLifetime: Int64, perHost: Int, hostLimit: Int, total: Int, tls: CurlTLSSettings,
    addressRefusal: (@Sendable ([UInt8]) -> String?)?, answerPace: InlineWaitHeuristic,
    receiveMarks: ReceiveLowWaterMarks
  ) {
    self.unixSocket = unixSocket
    self.interface = interface
    self.maximumIdleTime = maximumIdleTime
    self.maximumAge = maximumAge
    self.shufflesAddresses = shufflesAddresses
    self.isKept = isKept
    self.idleLifetime = idleLifetime
    self.perHost = perHost
    self.hostLimit = hostLimit
    self.total = total
    self.tls = tls
    self.addressRefusal = addressRefusal
    self.answerPace = answerPace
    self.receiveMarks = receiveMarks
  }

  /// Applies the settings to a handle that was just reset.
  func apply(to options: inout EasyOptions) {
    options.set(martlet_opt_max_age_conn, maximumIdleTime)
    // Closes the idle connections that ``AgedConnections`` rejects; the version knows the option.
    if let maximumAge, CurlLibrary.tellsBeforeSending {
      options.set(martlet_opt_max_lifetime_conn, Int((maximumAge + 999_999) / 1_000_000))
    }
    if shufflesAddresses {
      options.set(martlet_opt_dns_shuffle_addresses, 1)
      // libcurl shuffles when it stores a host's addresses, and would use that order for all connections of a minute.
      options.set(martlet_opt_dns_cache_timeout, 0)
    }
    if !isKept { options.set(martlet_opt_forbid_reuse, 1) }
    if let unixSocket { options.set(martlet_opt_unix_socket_path, unixSocket) }
    if let interface { options.set(martlet_opt_interface, interface) }
  }
}
