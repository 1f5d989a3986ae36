extension HTTPClient.Configuration {
  /// Which proxy is used for what; ``ProxySettings/direct`` by default, whatever the environment says.
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

  /// The path of a unix socket that every request goes to; `nil` by default.
  ///
  /// See ``TransportSettings/unixSocket``.
  public var unixSocket: String? {
    get { transportSettings.unixSocket }
    set { transportSettings.unixSocket = newValue }
  }

  /// The own IP address, or the interface by its name, that connections are made from; `nil` by default.
  ///
  /// See ``TransportSettings/localInterface``.
  public var localInterface: String? {
    get { transportSettings.localInterface }
    set { transportSettings.localInterface = newValue }
  }

  /// How long a connection may be unused before it is closed; 60 seconds by default.
  ///
  /// See ``TransportSettings/idleConnectionLifetime``.
  public var idleConnectionLifetime: Duration {
    get { transportSettings.idleConnectionLifetime }
    set { transportSettings.idleConnectionLifetime = newValue }
  }
}

extension HTTPClient {
  /// Closes the connections that no request uses.
  ///
  /// Requests that run are not touched; while one of them is held up by the reader of its body, closing waits for it.
  /// The next request connects anew. Returns at once; the closing itself takes some milliseconds. Does nothing where the
  /// system's `URLSession` loads.
  public nonisolated func closeIdleConnections() { core.settings.transport.closeIdleConnections() }
}
