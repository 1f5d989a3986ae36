extension TransportSettings {
  /// The problem of the settings, which every request throws before anything is sent.
  var problem: InvalidInput? {
    tls.problem ?? proxy.problem ?? AddressOverrides(resolve).problem ?? unixSocketProblem ?? localInterfaceProblem
      ?? lifetimeProblem
  }

  private var unixSocketProblem: InvalidInput? {
    guard let unixSocket else { return nil }
    // sun_path has 108 bytes, one of them for the terminator.
    let problem: String? =
      if !(1...107).contains(unixSocket.utf8.count) || unixSocket.utf8.contains(0) {
        "a path must have 1 to 107 bytes, none of them zero"
      } else if addresses != nil {
        "it cannot be combined with publicAddressesOnly"
      } else if !proxy.isNone {
        "it cannot be combined with a proxy"
      } else {
        nil
      }
    return problem.map { InvalidInput("unixSocket is \"\(InvalidInput.printable(unixSocket))\": \($0)") }
  }

  private var localInterfaceProblem: InvalidInput? {
    guard let localInterface, IPAddress(localInterface) == nil else { return nil }
    // IFNAMSIZ is 16 with the terminator. The system forbids slashes and blanks in names, and `!` has a meaning for
    // libcurl.
    let isName =
      (1...15).contains(localInterface.utf8.count)
      && localInterface.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "!") }
    if isName { return nil }
    return InvalidInput(
      "localInterface is \"\(InvalidInput.printable(localInterface))\": neither an IP address nor an interface's name")
  }

  private var lifetimeProblem: InvalidInput? {
    if idleConnectionLifetime < .zero {
      return InvalidInput("idleConnectionLifetime is \(idleConnectionLifetime): it must not be negative")
    }
    guard let maximumConnectionAge, maximumConnectionAge <= .zero else { return nil }
    return InvalidInput("maximumConnectionAge is \(maximumConnectionAge): it must be positive, or nil for no limit")
  }

  /// The implementation of `URLSession` below the system's loader.
  enum SystemLoader {
    case apple
    /// Foundation on Linux.
    case foundation

    static var current: SystemLoader {
      #if canImport(Security)
        .apple
      #else
        .foundation
      #endif
    }
  }

  /// The error for a setting that the system's loader does not support.
  func systemLoaderProblem(
    for request: HTTPRequest, _ version: RequestOptions.HTTPVersionPolicy, isLimited: Bool,
    loader: SystemLoader = .current
  ) -> HTTPError? {
    let choice = version == .automatic ? nil : "a choice of httpVersion"
    if loader == .apple, case .pem = tls.clientCertificate?.source {
      let remedy = "use .pkcs12, which `openssl pkcs12 -export` writes, or .identity(label:)"
      return HTTPError(
        .unsupported, "URLSession does not support client certificates in PEM; \(remedy)", request: request)
    }
    guard let feature = engineFeature(loader) ?? choice ?? (isLimited ? "bandwidth limits" : nil) else { return nil }
    return HTTPError(
      .unsupported, "the system's loader does not support \(feature); on Linux, use .curl or .urlSession",
      request: request)
  }

  /// The first setting that only Martlet's own engine supports, in words, or `nil`.
  private func engineFeature(_ loader: SystemLoader) -> String? {
    if loader == .foundation, let feature = tls.engineFeature { return feature }
    if addresses != nil { return "publicAddressesOnly" }
    if loader == .foundation, !proxy.isNone { return "a proxy for one client" }
    if !resolve.isEmpty { return "resolve" }
    if unixSocket != nil { return "unixSocket" }
    if maximumConnectionAge != nil { return "maximumConnectionAge" }
    if shufflesAddresses { return "shufflesAddresses" }
    return localInterface == nil ? nil : "localInterface"
  }
}

extension TLSSettings {
  fileprivate var engineFeature: String? {
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
