extension HTTPClient.Configuration {
  /// The proxy settings; ``ProxySettings/direct`` by default, whatever the environment variables are.
  ///
  /// Requires the Linux engine; the system's loader throws ``HTTPError/Kind/unsupported`` for all but the default.
  public var proxy: ProxySettings {
    get { ownSettings.proxy }
    set { ownSettings.proxy = newValue }
  }

  /// IP addresses of hosts, used instead of a name lookup; empty by default.
  ///
  /// See ``TransportSettings/resolve``.
  public var resolve: [String: [String]] {
    get { ownSettings.resolve }
    set { ownSettings.resolve = newValue }
  }

  /// The path of a Unix domain socket for all requests; `nil` by default.
  ///
  /// See ``TransportSettings/unixSocket``.
  public var unixSocket: String? {
    get { ownSettings.unixSocket }
    set { ownSettings.unixSocket = newValue }
  }

  /// The local IP address or interface name that connections are made from; `nil` by default.
  ///
  /// See ``TransportSettings/localInterface``.
  public var localInterface: String? {
    get { ownSettings.localInterface }
    set { ownSettings.localInterface = newValue }
  }

  /// The idle lifetime of a connection; 60 seconds by default.
  ///
  /// See ``TransportSettings/idleConnectionLifetime``.
  public var idleConnectionLifetime: Duration {
    get { ownSettings.idleConnectionLifetime }
    set { ownSettings.idleConnectionLifetime = newValue }
  }

  /// The age from which a connection serves no new request; `nil`, for no limit, by default.
  ///
  /// See ``TransportSettings/maximumConnectionAge``.
  public var maximumConnectionAge: Duration? {
    get { ownSettings.maximumConnectionAge }
    set { ownSettings.maximumConnectionAge = newValue }
  }

  /// Whether a host's addresses are tried in a random order; `false` by default.
  ///
  /// See ``TransportSettings/shufflesAddresses``.
  public var shufflesAddresses: Bool {
    get { ownSettings.shufflesAddresses }
    set { ownSettings.shufflesAddresses = newValue }
  }
}

extension HTTPClient {
  /// Closes idle connections.
  ///
  /// Running requests are not affected; if the reader of a body is holding one of them up, closing waits for it. The
  /// next request opens a new connection. The function returns immediately; closing takes some milliseconds. It does
  /// nothing with the system's `URLSession` loader.
  public nonisolated func closeIdleConnections() { core.settings.transport.closeIdleConnections() }
}
