public import Foundation

/// The context of a request, for transports and middleware.
public struct RequestContext: Sendable {
  /// The identifier of the call.
  public var id: RequestID { call.id }
  /// The number of the attempt, from 1 for each request of a redirect chain.
  public internal(set) var attempt = 1
  /// The number of redirects followed before this request.
  public internal(set) var hop = 0
  /// The effective options, with all inherited values.
  public var options: RequestOptions { call.options.source }

  /// What the client masks in logs.
  package var redaction: Redaction { call.settings.configuration.redaction }
  /// The current date for the client (``HTTPClient/Configuration/now``), such as for a signature.
  public var now: Date { call.settings.configuration.now() }

  package let call: Call
  /// The state that ``ProxyAuthStage`` and the transport share; `nil` without a proxy.
  var proxyExchange: ProxyExchange?
  /// The input of connection-based authentication, if the request uses it.
  var handshake: Handshake?

  /// The exchange of this request, which the last stage sets.
  package var exchange: ExchangeControl {
    get { current ?? ExchangeControl(call: call, start: call.core.timeline.now()) }
    set { current = newValue }
  }

  /// Whether the body is delivered as a stream, at the pace of its reader.
  private(set) var isStreamed = false
  /// Whether the server rejected the request over HTTP/2, and requires HTTP/1.1 (RFC 9113 §7).
  var needsHTTP11 = false
  /// Whether to use a new connection, because other requests used up the capacity of the previous ones.
  var needsNewConnection = false
  var httpVersion: HTTPVersion { needsHTTP11 ? .http1_1 : call.options.httpVersion }

  /// The credential that a stage has added to the request.
  var credential: Credential?
  /// Which of the two exchanges of a hedged request this is; `nil` for other requests.
  private(set) var lane: HedgeLane?
  /// The place of the exchange at the limits of the client, if there are any.
  var pass: LoadPass?
  /// Receives the stored response that may replace the response of a failed server.
  var fallback: Fallback?

  private var current: ExchangeControl?
  /// The part of the call that this context belongs to; `nil` if it is all of it.
  private(set) var branch: AbortBranch?

  /// Ends what is sent with this context.
  var abortSource: AbortSource { branch?.source ?? call.abortSource }

  init(call: Call, isStreamed: Bool = false) { (self.call, self.isStreamed) = (call, isStreamed) }

  /// Separates what is sent from here on: it can be ended alone.
  mutating func fork() -> AbortBranch {
    let fork = AbortBranch(of: abortSource, branch)
    branch = fork
    return fork
  }

  /// Makes this the context of one of the two exchanges of a hedged request.
  mutating func enter(_ lane: HedgeLane) { (self.lane, branch) = (lane, lane.branch) }

  /// Reports that bytes of the request body were sent, for progress and bandwidth.
  ///
  /// - Parameters:
  ///   - bytes: The number of additional bytes.
  ///   - expected: The total number of bytes, if known.
  public func didSend(_ bytes: Int, of expected: Int64? = nil) { exchange.didSend(bytes, of: expected) }

  /// Reports that bytes of the response body were received, for progress and bandwidth.
  ///
  /// - Parameters:
  ///   - bytes: The number of additional bytes.
  ///   - expected: The total number of bytes, if known.
  public func didReceive(_ bytes: Int, of expected: Int64? = nil) { exchange.didReceive(bytes, of: expected) }
}
