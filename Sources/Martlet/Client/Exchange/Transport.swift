#if os(Linux)
  import CurlEngine
#endif

/// Performs single exchanges: sends one request and receives its response.
///
/// A transport follows no redirects, keeps no cookies, stores nothing, retries nothing and answers no challenges: the
/// stages above it do. An exchange ends when its task is cancelled.
///
/// Implement a requirement that has a default with exactly its types and effects. The compiler accepts a
/// `closeIdleConnections()` that is `async`, but that is another method, which is never called.
public protocol Transport: Sendable {
  /// Returns the transport for one client.
  ///
  /// By default the transport itself, which several clients then share.
  ///
  /// - Parameter settings: The connection settings of the client.
  /// - Returns: The transport that the client uses.
  func prepared(for settings: TransportSettings) -> any Transport

  /// Sends a request, and returns when the head of the response has arrived.
  ///
  /// - Parameters:
  ///   - request: A validated request with a complete URL and all header fields to send, except those for framing and
  ///     connection management, which the transport adds.
  ///   - context: The context of the call, which also receives progress.
  /// - Returns: The head, and the body as it arrives. Dropping the body ends the exchange.
  /// - Throws: ``HTTPError``, or `CancellationError`.
  func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse

  /// Closes the idle connections, without waiting for them to close.
  ///
  /// The default does nothing.
  func closeIdleConnections()
}

extension Transport {
  public func prepared(for settings: TransportSettings) -> any Transport { self }

  public func closeIdleConnections() {}
}

/// The connection settings of a client's configuration.
public struct TransportSettings: Sendable {
  /// The maximum number of connections per host; 6 by default.
  ///
  /// With HTTP/1 each exchange needs its own connection. With HTTP/2 exchanges share one, or as many as the server's
  /// stream limit requires. The system's loaders do not report the version in time: with them this is the maximum
  /// number of concurrent exchanges.
  public var maximumConnectionsPerHost = 6

  /// The maximum number of concurrent requests per host; `nil` by default.
  ///
  /// `nil` sets no separate limit over HTTP/1, where ``maximumConnectionsPerHost`` applies. Over HTTP/2 it means 100,
  /// or ``maximumConnectionsPerHost`` if that is larger.
  public var maximumRequestsPerHost: Int?

  /// The maximum number of connections, including idle ones; 64 by default.
  ///
  /// With HTTP/2, up to 100 exchanges with one host count as one. On the engine of Linux, an exchange that ends during
  /// its host lookup counts until the lookup has ended.
  public var maximumConnections = 64

  /// Whether expensive networks are used, on Apple platforms; `true` by default.
  public var allowsExpensiveNetworks = true

  /// Whether networks in Low Data Mode are used, on Apple platforms; `true` by default.
  public var allowsConstrainedNetworks = true

  /// The maximum number of the Linux engine's connection threads, 1 to 64; 1 by default.
  public var engineThreads = 1

  /// TLS trust and client certificates.
  public var tls = TLSSettings.system

  /// The proxy settings; ``ProxySettings/direct`` by default.
  public var proxy = ProxySettings.direct

  /// Static addresses of hosts, instead of a lookup; none by default.
  ///
  /// `["api.example": ["127.0.0.1"], "api.example:8443": ["::1"]]`; the entry with the port takes precedence. Only the
  /// destination of the connection changes: the `Host` field, the server name of the TLS handshake and the name in the
  /// certificate are those of the URL. A proxy resolves the host itself; then only an entry for the proxy's own name
  /// applies. A malformed entry makes every request throw ``HTTPError/Kind/invalidRequest``.
  public var resolve: [String: [String]] = [:]

  /// The path of a Unix socket for all requests; `nil` by default.
  ///
  /// Every request connects to it, whatever its URL. The path has at most 107 bytes, and cannot be combined with a
  /// proxy. Each request has its own connection.
  public var unixSocket: String?

  /// The local IP address or interface name to connect from; `nil` by default.
  ///
  /// With `nil`, the system chooses.
  public var localInterface: String?

  /// The time after which an idle connection is closed; 60 seconds by default.
  ///
  /// With zero, each connection is used once. If nothing is in flight, the connection is closed on time; otherwise with
  /// the next request, or once nothing is in flight. It is never reused after this time.
  public var idleConnectionLifetime: Duration = .seconds(60)

  /// The age from which a connection serves no new request; `nil`, for no limit, by default.
  ///
  /// For servers behind a load balancer, or several addresses of one name: a client that is always busy otherwise keeps
  /// its connections, and ignores new servers. Requests in progress are not affected. An idle connection that is too old
  /// closes when the client opens the next one, or with ``idleConnectionLifetime``. An HTTP/2 connection accepts no new
  /// streams, and closes when its last one ends; until then, it counts towards the limits. If they allow no other
  /// connection, it still accepts streams. Must be positive; otherwise every request throws
  /// ``HTTPError/Kind/invalidRequest``.
  public var maximumConnectionAge: Duration?

  /// Whether a host's addresses are tried in a random order; `false` by default.
  ///
  /// For a name with several equal addresses, such as a headless service of Kubernetes. Otherwise, all connections use
  /// the address that the system's resolver prefers (RFC 6724), as long as it responds. The random order ignores that
  /// preference, including the one between IPv6 and IPv4. If one of them does not work, half of the connections need up
  /// to 250 ms longer. Each connection looks its host up, so it can use servers that were added a moment ago.
  public var shufflesAddresses = false

  /// The addresses that may be connected to; `nil` for all.
  var addresses: AddressPolicy?

  #if os(Linux)
    /// The initial estimate of the servers' speed; replaced in tests.
    var answerPace = InlineWaitHeuristic()
    /// The receive low-water marks; replaced in tests.
    var receiveMarks = ReceiveLowWaterMarks()
    /// The shortest time between two checks of TLS files; replaced in tests.
    var fileInterval = TLSFiles.interval
  #endif

  /// Creates the default settings.
  public init() {}
}

/// A transport that watches ``RequestContext`` for the end of its exchange.
///
/// It needs no separate task.
package protocol AbortAwareTransport: Transport {}

/// A transport that can open connections without a request.
package protocol PreconnectingTransport: Transport {
  /// Opens connections to the server of a request, which is not sent.
  func preconnect(for request: HTTPRequest, count: Int, context: RequestContext) async throws
}
