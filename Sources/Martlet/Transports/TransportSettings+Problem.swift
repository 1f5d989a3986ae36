extension TransportSettings {
  /// The problem of the settings, which every request throws before anything is sent.
  var problem: InvalidInput? { tls.problem ?? connectionProblem }

  /// The first setting that only Martlet's own engine supports, in words, or `nil`.
  var engineFeature: String? {
    if let feature = tls.engineFeature { return feature }
    return connectionFeature
  }

  /// The error for a setting that the system's loader does not support.
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
