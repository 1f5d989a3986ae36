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
}

extension Transport {
  public func prepared(for settings: TransportSettings) -> any Transport { self }
}

/// What a client's configuration says about connections.
public struct TransportSettings: Sendable {
  /// The most exchanges with one host at a time.
  public var maximumConnectionsPerHost = 6

  /// The most exchanges at a time.
  public var maximumConnections = 64

  /// Which servers are believed, and who the client is to them.
  public var tls = TLSSettings.system

  /// The settings of a client that sets nothing.
  public init() {}
}

/// A transport that watches ``RequestContext`` itself for the end of its exchange, so that it needs no task of its own.
package protocol AbortAwareTransport: Transport {}
