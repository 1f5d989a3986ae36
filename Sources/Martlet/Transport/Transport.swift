#if os(Linux)
  import CurlEngine
#endif

/// One exchange on the wire: request and body in; head, body and end out.
///
/// A transport follows no redirect, keeps no cookie, stores nothing, retries nothing and answers no challenge: the
/// stages above it do. It ends when its task is cancelled.
public protocol Transport: Sendable {
  /// Makes the transport for one client.
  ///
  /// The default returns the transport itself, which several clients then share.
  ///
  /// - Parameter settings: What the client's configuration says about connections.
  /// - Returns: The transport that the client uses.
  func prepared(for settings: TransportSettings) -> any Transport

  /// Sends a request and returns when the head of the response is there.
  ///
  /// - Parameters:
  ///   - request: A checked request whose target is a whole URL, with every header field that is to be sent, except
  ///     those of framing and connection, which are the transport's.
  ///   - context: What is known of the call, and where progress is reported.
  /// - Returns: The head, and the body as it arrives. Dropping the body ends the exchange.
  /// - Throws: ``HTTPError``, or `CancellationError`.
  func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse

  /// Closes the connections that no exchange uses, without waiting for that.
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
  /// The maximum number of connections per host.
  ///
  /// With HTTP/1 each exchange needs one of its own. With HTTP/2 they share one, or as many as the server's limit of
  /// streams makes necessary. The system's loaders do not tell the version in time: there it is the most exchanges.
  public var maximumConnectionsPerHost = 6

  /// The maximum number of concurrent requests per host.
  ///
  /// `nil`, the default, is no limit of its own over HTTP/1, where ``maximumConnectionsPerHost`` is one, and 100 over
  /// HTTP/2, or ``maximumConnectionsPerHost`` if that is more.
  public var maximumRequestsPerHost: Int?

  /// The most connections, idle ones included; up to 100 exchanges with one host count as one where HTTP/2 is spoken.
  ///
  /// On the engine of Linux, an exchange that ends while its host is looked up counts until the lookup has ended.
  public var maximumConnections = 64

  /// How many threads Martlet's own engine on Linux may have for connections, from 1 to 64.
  public var engineThreads = 1

  /// TLS trust and client certificates.
  public var tls = TLSSettings.system

  /// The proxy settings; ``ProxySettings/direct`` by default.
  public var proxy = ProxySettings.direct

  /// Addresses of hosts that are not looked up: from a name, or a name with a port, to IP addresses.
  ///
  /// `["api.example": ["127.0.0.1"], "api.example:8443": ["::1"]]`; the entry with the port counts first. Only where to
  /// connect changes: the field `Host`, the name in the TLS handshake and the name in the certificate are those of the
  /// URL. Through a proxy the proxy looks up the name, and an entry for the proxy's own name counts. An entry that is
  /// malformed fails every request with ``HTTPError/Kind/invalidRequest``.
  public var resolve: [String: [String]] = [:]

  /// The path of a unix socket that every request goes to, whatever its URL says; `nil` by default.
  ///
  /// At most 107 bytes, and not together with a proxy. Each request has a connection of its own.
  public var unixSocket: String?

  /// The own IP address, or the interface by its name, that connections are made from; `nil`, the default, leaves it to
  /// the system.
  public var localInterface: String?

  /// How long a connection may be unused before it is closed; 60 seconds by default, zero to use each one once.
  ///
  /// When nothing is in flight it is closed on time; otherwise with the next request, or when nothing is in flight any
  /// more. It is not used again in any case.
  public var idleConnectionLifetime: Duration = .seconds(60)

  /// Which addresses may be connected to; all if `nil`.
  var addresses: AddressPolicy?

  #if os(Linux)
    /// What is thought of the servers' pace at first; another one for tests.
    var answerPace = AnswerPace()
    /// For which bodies sockets gather; other ones for tests.
    var receiveMarks = ReceiveMarks()
  #endif

  /// The settings of a client that sets nothing.
  public init() {}
}

/// A transport that watches ``RequestContext`` itself for the end of its exchange, so that it needs no task of its own.
package protocol AbortAwareTransport: Transport {}
