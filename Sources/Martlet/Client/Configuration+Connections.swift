extension HTTPClient.Configuration {
  /// The proxy settings; ``ProxySettings/direct`` by default, whatever the environment says.
  ///
  /// On the engine of Linux; the system's loader throws ``HTTPError/Kind/unsupported`` for all but the default.
  public var proxy: ProxySettings {
    get { transportSettings.proxy }
    set { transportSettings.proxy = newValue }
  }

  /// Addresses of hosts that are not looked up; empty by default.
  ///
  /// See ``TransportSettings/resolve``.
  public var resolve: [String: [String]] {
    get { transportSettings.resolve }
    set { transportSettings.resolve = newValue }
  }

  /// The path of a Unix domain socket for all requests; `nil` by default.
  ///
  /// See ``TransportSettings/unixSocket``.
  public var unixSocket: String? {
    get { transportSettings.unixSocket }
    set { transportSettings.unixSocket = newValue }
  }

  /// The local IP address or interface name that connections are made from; `nil` by default.
  ///
  /// See ``TransportSettings/localInterface``.
  public var localInterface: String? {
    get { transportSettings.localInterface }
    set { transportSettings.localInterface = newValue }
  }

  /// The idle lifetime of a connection; 60 seconds by default.
  ///
  /// See ``TransportSettings/idleConnectionLifetime``.
  public var idleConnectionLifetime: Duration {
    get { transportSettings.idleConnectionLifetime }
    set { transportSettings.idleConnectionLifetime = newValue }
  }
}

extension HTTPClient {
  /// Closes idle connections.
  ///
  /// Requests that run are not touched; while one of them is held up by the reader of its body, closing waits for it.
  /// The next request connects anew. Returns at once; the closing itself takes some milliseconds. Does nothing where
  /// the system's `URLSession` loads.
  public nonisolated func closeIdleConnections() { core.settings.transport.closeIdleConnections() }
}
