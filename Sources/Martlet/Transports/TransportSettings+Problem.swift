extension TransportSettings {
  /// What is wrong with the settings; every request of the client throws it, before anything is sent.
  var problem: InvalidInput? { tls.problem ?? connectionProblem }

  /// What only Martlet's own engine can do of what is asked for, in words, or `nil`.
  var engineFeature: String? {
    if let feature = tls.engineFeature { return feature }
    return connectionFeature
  }

  /// Says that a loader of the system cannot do what is asked for.
  func systemLoaderProblem(
    for request: HTTPRequest, _ version: HTTPVersion = .automatic, isLimited: Bool = false
  ) -> HTTPError? {
    let choice = version == .automatic ? nil : "a choice of httpVersion"
    guard let engineFeature = engineFeature ?? choice ?? (isLimited ? "bandwidth limits" : nil) else { return nil }
    return HTTPError(
      .unsupported, "the system's loader does not support \(engineFeature); on Linux, use .curl or .urlSession",
      request: request)
  }
}

extension TLSSettings {
  var engineFeature: String? {
    switch trust {
    case .system: break
    case .systemAnd, .only: return "custom root certificates"
    case .anything: return "insecureTrustAnything"
    }
    if pins != nil { return "public key pins" }
    if clientCertificate != nil { return "client certificates" }
    return minimumVersion == .v1_2 ? nil : "a minimum TLS version"
  }
}
