import MartletBase

/// What the stage for proxies and the transport tell each other about one request.
///
/// Only the transport knows which proxy a request goes to, and only the stage may ask somebody and send it again.
final class ProxyExchange: Sendable {
  typealias Sent = AuthSession.Sent

  /// What the request was sent with, and to whom.
  struct Use: Sendable {
    let proxy: Proxy
    /// Whether the proxy only passes bytes on, so that what comes back is the server's.
    let isTunnel: Bool
    let session: AuthSession?
    let sent: Sent
    /// Hears whether the credentials were accepted.
    var onOutcome: @Sendable (_ isAccepted: Bool) -> Void = { _ in }
  }

  /// A proxy's answer to CONNECT, if that was no.
  struct Refusal: Sendable {
    let status: Int
    let headers: HTTPHeaders
  }

  private struct State {
    var use: Use?
    var refusal: Refusal?
    /// What to send next, and to which proxy: another one would be told what is not for it.
    var next: (proxy: Proxy, sent: Sent)?
  }

  let call: Call
  private let state = Locked(State())

  init(_ call: Call) { self.call = call }

  func visit(_ proxy: Proxy) -> AuthSession.Visit { AuthSession.Visit(origin: proxy.origin, call: call) }

  // MARK: The transport's side

  /// Says what an http or https proxy is sent; returns the credential and the value of `Proxy-Authorization`.
  ///
  /// `method` and `target` are those that the proxy sees: `CONNECT` for a tunnel.
  func begin(_ proxy: Proxy, method: String, target: String) async throws -> (Credential, field: String)? {
    var session = call.proxySession(for: proxy)
    // What an authenticator sends itself, in order to answer, goes without.
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
    return (answer.credential, try answer.field(method: method, uri: target))
  }

  /// Says whom to tell what became of the credentials.
  func onOutcome(_ action: @escaping @Sendable (_ isAccepted: Bool) -> Void) {
    state.withLock { $0.use?.onOutcome = action }
  }

  /// There is a connection: a proxy that has opened a tunnel has accepted what it was sent.
  func connected() {
    guard let use, use.isTunnel else { return }
    use.onOutcome(true)
  }

  /// Takes what a proxy said to CONNECT.
  func refused(_ status: Int, _ headers: HTTPHeaders) {
    state.withLock { $0.refusal = Refusal(status: status, headers: headers) }
  }

  // MARK: The stage's side

  /// What the request was sent with; `nil` without a proxy that could ask.
  var use: Use? { state.withLock { $0.use } }

  var refusal: Refusal? { state.withLock { $0.refusal } }

  /// Forgets the last try, and sends the next one with something newer.
  func sendNext(_ sent: Sent, to proxy: Proxy) {
    state.withLock { $0 = State(next: (proxy, sent)) }
  }
}

extension Proxy {
  /// Where it is, as the place of its credentials.
  var origin: Origin { Origin(scheme: scheme.rawValue, host: host, port: port) }
}

extension Call {
  /// Who answers for a proxy: what its URL says, else what the client was configured with.
  func proxySession(for proxy: Proxy) -> AuthSession? {
    guard proxy.user == nil && proxy.password == nil else {
      let credential = Credential.user(proxy.user ?? "", password: proxy.password ?? "", isSentUnasked: true)
      return core.callSessions.session(for: CallCredential(credential: credential, origin: proxy.origin), isProxy: true)
    }
    return settings.configuration.authenticators.proxySession(for: proxy.origin)
  }
}
