#if canImport(Security)
  import Foundation
  import MartletBase
  import Security

  /// A session's TLS settings in the system's form, and the servers that it has accepted.
  ///
  /// ``ServerTrust`` and ``ClientIdentity`` decide; this type asks the system and carries decisions out. Only the
  /// delegate's method for tasks is implemented, so the system calls it for all challenges, and a refusal can end the
  /// exchange with its reason.
  final class SessionSecurity: Sendable {
    typealias Completion = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

    private let trust: ServerTrust
    private let roots: SystemTrust.Roots?
    private let certificate: URLCredential?
    private let proxy: Proxy?
    /// The hosts whose certificates were accepted, if the settings change trust.
    ///
    /// If there are more than 10,000, one of them is forgotten, and refused until a new connection to it is opened.
    private let accepted = Locked<Set<String>>([])

    /// Prepares the settings; blocks while it reads a client certificate.
    init(_ settings: TLSSettings, proxy: Proxy?) throws(InvalidInput) {
      trust = ServerTrust(tls: settings)
      roots = try SystemTrust.roots(of: settings)
      if let source = settings.clientCertificate {
        certificate = try SystemIdentity.credential(for: source)
      } else {
        certificate = nil
      }
      self.proxy = proxy
    }

    func apply(to configuration: URLSessionConfiguration) {
      configuration.tlsMinimumSupportedProtocolVersion = trust.tls.systemMinimumVersion
    }

    /// Answers a challenge; a refusal ends the exchange with its reason.
    func respond(
      to challenge: URLAuthenticationChallenge, for exchange: URLSessionExchange, _ completion: @escaping Completion
    ) {
      let space = challenge.protectionSpace
      let peer = ServerTrust.Peer(
        host: exchange.wire.origin.host, challenged: space.host, isProxy: space.isProxy())
      switch space.authenticationMethod {
      case NSURLAuthenticationMethodServerTrust:
        evaluate(peer, space, exchange, completion)
      case NSURLAuthenticationMethodClientCertificate:
        let step = ClientIdentity.step(
          for: peer, hasCertificate: certificate != nil, failures: challenge.previousFailureCount)
        present(step, certificate, exchange, completion)
      default:
        guard peer.isProxy, let proxy else { return completion(.performDefaultHandling, nil) }
        let credential = URLCredential(user: proxy.user ?? "", password: proxy.password ?? "", persistence: .none)
        let step = ClientIdentity.step(for: proxy, failures: challenge.previousFailureCount)
        present(step, credential, exchange, completion)
      }
    }

    private func present(
      _ step: ClientIdentity.Step, _ credential: URLCredential?, _ exchange: URLSessionExchange,
      _ completion: Completion
    ) {
      switch step {
      case .systemDefault: completion(.performDefaultHandling, nil)
      case .present: completion(.useCredential, credential)
      case .refuse(let kind, let reason): refuse(kind, reason, exchange, completion)
      }
    }

    private func evaluate(
      _ peer: ServerTrust.Peer, _ space: URLProtectionSpace, _ exchange: URLSessionExchange,
      _ completion: @escaping Completion
    ) {
      let step = trust.step(for: peer)
      switch step {
      case .systemDefault: return completion(.performDefaultHandling, nil)
      case .refuse(let reason): return refuse(.tls, reason, exchange, completion)
      case .evaluate, .readChain: break
      }
      let finish: SystemTrust.Result = { [self] handle, chain, verdict in
        switch trust.decide(peer, chain: chain, verdict: verdict) {
        case .accept:
          if !peer.isProxy { remember(exchange.wire.origin) }
          completion(.useCredential, URLCredential(trust: handle))
        case .refuse(let reason): refuse(.tls, reason, exchange, completion)
        }
      }
      // Both may wait for the network, which must not delay the session's other tasks. Reading the chain of a trust
      // object without a verdict evaluates it on the thread.
      let queue = step == .readChain ? SystemTrust.blockingQueue : SystemTrust.queue
      queue.async { [self] in
        guard let handle = space.serverTrust else {
          return refuse(.tls, "the system provided no certificate of \(peer.challenged)", exchange, completion)
        }
        if step == .readChain { return finish(handle, SystemTrust.chain(of: handle), nil) }
        SystemTrust.evaluate(handle, roots, finish)
      }
    }

    /// Whether a response may be delivered; a refusal ends the exchange.
    func allowsResponse(for exchange: URLSessionExchange) -> Bool {
      guard trust.tls.changesTrust else { return true }
      let origin = exchange.wire.origin
      let wasAccepted = accepted.withLock { $0.contains(Self.key(origin)) }
      guard case .refuse(let reason) = trust.decide(responseOf: origin, wasAccepted: wasAccepted) else { return true }
      exchange.refuse(HTTPError(.tls, reason, .waiting, reached: true))
      return false
    }

    private func remember(_ origin: Origin) {
      accepted.withLock { accepted in
        if accepted.count >= 10_000 { accepted.removeFirst() }
        accepted.insert(Self.key(origin))
      }
    }

    private static func key(_ origin: Origin) -> String { "\(origin.host):\(origin.port)" }

    private func refuse(
      _ kind: HTTPError.Kind, _ reason: String, _ exchange: URLSessionExchange, _ completion: Completion
    ) {
      // Before the completion, whose cancellation would be the task's only error.
      exchange.refuse(HTTPError(kind, reason, .connecting, reached: false))
      completion(.cancelAuthenticationChallenge, nil)
    }
  }
#endif
