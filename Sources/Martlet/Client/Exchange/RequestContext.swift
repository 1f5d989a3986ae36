public import MartletBase

/// The context of a request, for transports and middleware.
public struct RequestContext: Sendable {
  /// The identifier of the call.
  public var id: RequestID { call.id }
  /// The number of the attempt, from 1 for each request of a redirect chain.
  public internal(set) var attempt = 1
  /// The number of redirects followed before this request.
  public var hop: Int { previousURLs.count }
  /// The effective options, with all inherited values.
  public var options: RequestOptions { call.options.source }

  /// The redaction with which the client masks logs.
  package var redaction: Redaction { call.settings.configuration.redaction }
  /// The time of the client's clock.
  package var timeline: Timeline { call.core.timeline }
  /// The current date for the client (``HTTPClient/Configuration/now``), such as for a signature.
  public var now: Date { call.settings.configuration.now() }

  /// The origin of the base URL; `nil` without a valid one.
  package var baseOrigin: Origin? { call.baseOrigin }

  /// The origin whose credentials and signatures a URL receives: its own, or the base URL's for a server of a cluster
  /// that is one service.
  package func service(of url: AbsoluteURL) -> Origin {
    guard let server, servers?.pool.cluster.isOneService == true, url.isLocated(at: server.url) else {
      return url.origin
    }
    return baseOrigin ?? url.origin
  }

  package let call: Call
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
  var httpVersion: RequestOptions.HTTPVersionPolicy { needsHTTP11 ? .http1_1 : call.options.httpVersion }

  private var current: ExchangeControl?
  /// Boxed, because most requests do not use it, and many functions copy their context.
  private var rare: Boxed<Rare>?
  /// The branch that contains this context; `nil` for the whole call.
  private(set) var branch: AbortBranch?

  /// The source that aborts exchanges with this context.
  var abortSource: AbortSource { branch?.source ?? call.abortSource }

  init(call: Call, isStreamed: Bool = false) { (self.call, self.isStreamed) = (call, isStreamed) }

  /// Creates a branch, which can be aborted independently.
  mutating func fork() -> AbortBranch {
    let fork = AbortBranch(of: abortSource, branch)
    branch = fork
    return fork
  }

  /// Makes this the context of one of the two exchanges of a hedged request.
  mutating func enter(_ lane: HedgeExchange) {
    branch = lane.branch
    change { $0.lane = lane }
  }

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

extension RequestContext {
  /// The state of features that most requests do not use.
  private struct Rare {
    var previousURLs: [AbsoluteURL] = []
    var namedServer: Int?
    var proxyExchange: ProxyExchange?
    var handshake: Handshake?
    var credential: Credential?
    var lane: HedgeExchange?
    var pass: AdmissionPermit?
    var fallback: Fallback?
    var servers: ServerTrail?
    var server: ServerUse?
  }

  private mutating func change(_ body: (inout Rare) -> Void) {
    var box = rare ?? Boxed(Rare())
    rare = nil
    body(&box.value)
    rare = box
  }

  /// The URLs of the requests before this one in the redirect chain.
  var previousURLs: [AbsoluteURL] { rare?.value.previousURLs ?? [] }

  /// The server of the cluster that the last redirect leads to, if it leads to one.
  var namedServer: Int? { rare?.value.namedServer }

  /// Makes this the context of the request after a redirect from a URL, which may lead to a server of the cluster.
  mutating func leave(_ url: AbsoluteURL, toServer server: Int?) {
    change {
      $0.previousURLs.append(url)
      $0.namedServer = server
    }
  }

  /// The state that ``ProxyAuthStage`` and the transport share; `nil` without a proxy.
  var proxyExchange: ProxyExchange? {
    get { rare?.value.proxyExchange }
    set { change { $0.proxyExchange = newValue } }
  }

  /// The input of connection-based authentication, if the request uses it.
  var handshake: Handshake? {
    get { rare?.value.handshake }
    set { if newValue != nil || rare != nil { change { $0.handshake = newValue } } }
  }

  /// The credential that a stage has added to the request.
  var credential: Credential? {
    get { rare?.value.credential }
    set { if newValue != nil || rare != nil { change { $0.credential = newValue } } }
  }

  /// The branch of a hedged request; `nil` for other requests.
  var lane: HedgeExchange? { rare?.value.lane }

  /// The place of the exchange at the limits of the client, if there are any.
  var pass: AdmissionPermit? {
    get { rare?.value.pass }
    set { change { $0.pass = newValue } }
  }

  /// The servers of the cluster that the request has used, if it is sent to one.
  var servers: ServerTrail? {
    get { rare?.value.servers }
    set { change { $0.servers = newValue } }
  }

  /// The server that the stages below send the request to.
  var server: ServerUse? {
    get { rare?.value.server }
    set { change { $0.server = newValue } }
  }

  /// Receives the stored response that may replace the response of a failed server.
  var fallback: Fallback? {
    get { rare?.value.fallback }
    set { change { $0.fallback = newValue } }
  }
}
