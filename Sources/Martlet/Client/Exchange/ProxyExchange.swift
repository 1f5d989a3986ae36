import MartletBase

/// The state that ``ProxyAuthStage`` and a transport share for one request.
///
/// Only the transport knows the request's proxy. Only the stage may call an authenticator and send the request again.
final class ProxyExchange: Sendable {
  typealias Sent = AuthSession.Sent

  /// The credentials that the request was sent with, and the proxy.
  struct Use: Sendable {
    let proxy: Proxy
    /// Whether the proxy is a tunnel, so responses come from the server.
    let isTunnel: Bool
    let session: AuthSession?
    let sent: Sent
    /// Called when the credentials are accepted or rejected.
    var onOutcome: @Sendable (_ isAccepted: Bool) -> Void = { _ in }
  }

  /// A proxy's rejection of a CONNECT request.
  struct Refusal: Sendable {
    let status: Int
    let headers: HTTPHeaders
  }

  private struct State: ~Copyable {
    var use: Use?
    var refusal: Refusal?
    /// The next credentials and their proxy; no other proxy may receive them.
    var next: (proxy: Proxy, sent: Sent)?
  }

  let call: Call
  let abortSource: AbortSource
  private let state = Locked(State())

  init(_ context: RequestContext) { (call, abortSource) = (context.call, context.abortSource) }

  func visit(_ proxy: Proxy) -> AuthSession.Target { AuthSession.Target(origin: proxy.origin, call: call, abortSource) }

  // MARK: The transport's side

  /// Begins a request to an http or https proxy.
  ///
  /// Returns the credential and the value of `Proxy-Authorization`. `method` and `target` are those that the proxy
  /// receives: `CONNECT` for a tunnel.
  func begin(_ proxy: Proxy, method: String, target: String) async throws -> (Credential, field: String)? {
    var session = call.proxySession(for: proxy)
    // Requests that the proxy's authenticator sends have no proxy credentials.
    if session?.isAnswering == true { session = nil }
    let next = state.withLock { state in
      defer { (state.next, state.refusal) = (nil, nil) }
      return state.next?.proxy == proxy ? state.next?.sent : nil
    }
    var sent = next ?? Sent(answer: nil, stamp: 0)
    if next == nil, let session { sent = try await session.first(visit(proxy)) }
    let use = Use(proxy: proxy, isTunnel: method == "CONNECT", session: session, sent: sent)
    state.withLock { $0.use = use }
    guard let answer = sent.answer else { return nil }
    if next == nil { call.explain(.preemptive(answer.scheme, .proxy)) }
    return (answer.credential, try answer.field(method: method, uri: target))
  }

  func onOutcome(_ action: @escaping @Sendable (_ isAccepted: Bool) -> Void) {
    state.withLock { $0.use?.onOutcome = action }
  }

  /// Reports a connection: a proxy that opens a tunnel has accepted the credentials.
  func connected() {
    guard let use, use.isTunnel else { return }
    use.onOutcome(true)
  }

  /// Records the refusal of a CONNECT request.
  func refused(_ status: Int, _ headers: HTTPHeaders) {
    state.withLock { $0.refusal = Refusal(status: status, headers: headers) }
  }

  // MARK: The stage's side

  /// The credentials that the request was sent with; `nil` without an http or https proxy.
  var use: Use? { state.withLock { $0.use } }

  var refusal: Refusal? { state.withLock { $0.refusal } }

  /// Resets the state, and sets the credentials for the next attempt.
  func sendNext(_ sent: Sent, to proxy: Proxy) {
    state.withLock { $0 = State(next: (proxy, sent)) }
  }
}

extension Proxy {
  /// The origin under which the proxy's credentials are kept.
  var origin: Origin { Origin(scheme: scheme.rawValue, host: host, port: port) }
}

extension Call {
  /// The session for a proxy: that of the credentials in its URL, otherwise a configured one.
  func proxySession(for proxy: Proxy) -> AuthSession? {
    guard !proxy.hasCredentials else {
      let credential = Credential.user(proxy.user ?? "", password: proxy.password ?? "", isPreemptive: true)
      return core.callSessions.session(for: CallCredential(credential: credential, origin: proxy.origin), isProxy: true)
    }
    return settings.configuration.authenticators.proxySession(for: proxy.origin)
  }
}

extension AuthSession.Target {
  init(origin: Origin, call: Call, _ abortSource: AbortSource) {
    self.init(
      origin: origin, call: call, abortSource: abortSource, store: call.settings.configuration.credentialStore,
      authority: call.settings.partition.authority)
  }
}
