import MartletBase

/// The decisions about a client certificate where TLS is the system's; no I/O.
enum ClientIdentity {
  /// The problem of an import with `SecPKCS12Import`, or `nil` if it contains exactly one identity.
  static func problem(ofImport status: Int32, identities: Int) -> InvalidInput? {
    let name = "the client certificate in PKCS #12"
    switch status {
    case 0: break
    // errSecAuthFailed, errSecPkcs12VerifyFailure, errSecPassphraseRequired
    case -25293, -25264, -25260:
      let remedy = "`openssl pkcs12 -export -legacy` writes a format that every version supports"
      return InvalidInput("\(name) has another password, or a format that the system does not support: \(remedy)")
    // errSecDecode, errSecUnknownFormat
    case -26275, -25257: return InvalidInput("\(name) is malformed, or has a format that the system does not support")
    default: return InvalidInput("\(name) cannot be imported: status \(status)")
    }
    return problem(identities, in: name)
  }

  /// The problem of a search in the keychain, or `nil` if it found exactly one identity.
  static func problem(ofSearch status: Int32, identities: Int, label: String) -> InvalidInput? {
    let name = "the keychain's item '\(InvalidInput.printable(label))'"
    switch status {
    case 0: return problem(identities, in: name)
    // errSecItemNotFound
    case -25300: return problem(0, in: name)
    default: return InvalidInput("\(name) cannot be read: status \(status)")
    }
  }

  private static func problem(_ identities: Int, in name: String) -> InvalidInput? {
    switch identities {
    case 1: nil
    case 0: InvalidInput("\(name) contains no certificate with its private key")
    default: InvalidInput("\(name) contains \(identities) certificates with private keys: only one can be used")
    }
  }

  /// The response to a request for credentials.
  enum Step: Equatable {
    /// None of the client's own.
    case systemDefault
    case present
    case refuse(HTTPError.Kind, String)
  }

  /// The response to a request for a client certificate, after a number of rejected responses.
  static func step(for peer: ServerTrust.Peer, hasCertificate: Bool, failures: Int) -> Step {
    guard hasCertificate, !peer.isProxy else { return .systemDefault }
    if let problem = peer.problem { return .refuse(.tls, problem) }
    return failures == 0 ? .present : .refuse(.tls, "\(peer.host) did not accept the client certificate")
  }

  /// The response to a proxy that requires a user name and a password, after a number of rejected responses.
  static func step(for proxy: Proxy, failures: Int) -> Step {
    guard proxy.hasCredentials else {
      return .refuse(
        .authenticationFailed, "the proxy \(proxy) requires credentials; set the proxy's user and password")
    }
    return failures == 0
      ? .present : .refuse(.authenticationFailed, "the proxy \(proxy) did not accept the credentials")
  }
}
