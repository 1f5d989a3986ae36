import MartletBase

/// The decisions about trust where TLS is the system's; no I/O.
///
/// Only an explicit success is trust: a chain without certificates, a verdict that is missing or not understood, and a
/// key that cannot be read are refusals. The rules are those of ``TLSSettings``, which apply to servers; for a proxy,
/// only the roots count.
struct ServerTrust: Sendable {
  /// A TLS peer, as a challenge describes it.
  struct Peer: Sendable {
    /// The host of the request's URL.
    let host: String
    /// The host that the challenge names.
    let challenged: String
    let isProxy: Bool

    /// The host whose certificate is checked.
    fileprivate var name: String { InvalidInput.printable(isProxy ? challenged : host) }

    /// The problem of a challenge for a host other than the request's.
    var problem: String? {
      isProxy || Self.isSame(host, challenged)
        ? nil : "the challenge is for \(InvalidInput.printable(challenged)) instead of \(name)"
    }

    private static func isSame(_ left: String, _ right: String) -> Bool {
      if let left = IPAddress(left), let right = IPAddress(right) { return left == right }
      return !left.isEmpty && folded(left) == folded(right)
    }

    private static func folded(_ name: String) -> Substring {
      let name = FieldSyntax.lowercased(name)[...]
      return name.hasSuffix(".") ? name.dropLast() : name
    }
  }

  /// The next step after a challenge.
  enum Step: Equatable {
    /// The system decides alone.
    case systemDefault
    /// The system evaluates the chain, with the roots of the settings.
    case evaluate
    /// Only the chain is needed.
    case readChain
    case refuse(String)
  }

  /// The result of the system's evaluation.
  enum Verdict: Sendable, Equatable {
    case trusted
    case rejected(String)
    /// A result without a defined meaning.
    case unclear(String)

    /// Reads a result of `SecTrustEvaluateWithError`, and the value of `SecTrustResultType`.
    init(isTrusted: Bool, result: UInt32?, failure: String?) {
      switch (isTrusted, result, failure) {
      // The user trusts it (1), or nothing speaks against it (4).
      case (true, 1, nil), (true, 4, nil): self = .trusted
      case (false, _, let failure?): self = .rejected(InvalidInput.printable(failure, limit: 300))
      default: self = .unclear("result \(result.map(String.init) ?? "unknown")")
      }
    }
  }

  enum Decision: Equatable {
    case accept
    case refuse(String)
  }

  let tls: TLSSettings

  /// The step after a challenge for a certificate.
  func step(for peer: Peer) -> Step {
    if peer.isProxy { return tls.trust.material == nil ? .systemDefault : .evaluate }
    guard tls.changesTrust else { return .systemDefault }
    if let problem = peer.problem { return .refuse(problem) }
    return tls.trust == .anything ? .readChain : .evaluate
  }

  /// The decision about a peer; `chain` is DER, beginning with the peer's own certificate.
  func decide(_ peer: Peer, chain: [Data], verdict: Verdict?) -> Decision {
    if let problem = peer.problem { return .refuse(problem) }
    guard let leaf = chain.first else { return .refuse("\(peer.name) presented no certificate") }
    if tls.trust != .anything || peer.isProxy {
      switch verdict {
      case .trusted: break
      case .rejected(let reason): return .refuse("the certificate of \(peer.name) is not trusted: \(reason)")
      case .unclear(let what):
        return .refuse("the certificate of \(peer.name) is not trusted: its evaluation is unclear (\(what))")
      case nil: return .refuse("the certificate of \(peer.name) is not trusted: it was not evaluated")
      }
    }
    guard !peer.isProxy, tls.pins != nil else { return .accept }
    let pins = tls.normalizedPins ?? []
    guard let pin = X509.pin(of: leaf) else {
      return .refuse("the certificate of \(peer.name) is malformed, so its public key matches no pin")
    }
    return pins.contains(pin)
      ? .accept : .refuse("the public key of \(peer.name) matches no pin: it is \(pin)")
  }

  /// The decision about a response; `wasAccepted` says whether the session has accepted its host's certificate.
  ///
  /// A TLS session that another session of the process has left may be resumed without a challenge.
  func decide(responseOf origin: Origin, wasAccepted: Bool) -> Decision {
    guard tls.changesTrust, origin.scheme == "https", !wasAccepted else { return .accept }
    let what = "the certificate of \(InvalidInput.printable(origin.host)) was not presented to this client"
    return .refuse("\(what): URLSession used a connection or a TLS session that was opened for something else")
  }
}

extension TLSSettings {
  /// Whether the settings differ from the system's own decision about servers.
  var changesTrust: Bool { trust != .system || pins != nil }
}
