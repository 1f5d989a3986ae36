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
    idleConnectionLifetime >= .zero
      ? nil : InvalidInput("idleConnectionLifetime is \(idleConnectionLifetime): it must not be negative")
  }

  /// The error for a setting that the system's loader does not support.
  func systemLoaderProblem(for request: HTTPRequest, _ version: RequestOptions.HTTPVersionPolicy, isLimited: Bool)
    -> HTTPError?
  {
    let choice = version == .automatic ? nil : "a choice of httpVersion"
    guard let feature = engineFeature ?? choice ?? (isLimited ? "bandwidth limits" : nil) else { return nil }
    return HTTPError(
      .unsupported, "the system's loader does not support \(feature); on Linux, use .curl or .urlSession",
      request: request)
  }

  /// The first setting that only Martlet's own engine supports, in words, or `nil`.
  private var engineFeature: String? {
    if let feature = tls.engineFeature { return feature }
    if addresses != nil { return "publicAddressesOnly" }
    if !proxy.isNone { return "a proxy for one client" }
    if !resolve.isEmpty { return "resolve" }
    if unixSocket != nil { return "unixSocket" }
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
