#if canImport(Security)
  import Foundation
  import MartletBase
  import Security

  /// Certificates in the system's form, and the system's evaluation of them.
  enum SystemTrust {
    /// The roots in addition to the system's, or instead of them.
    struct Roots: Sendable {
      /// DER.
      let certificates: [Data]
      let replaceSystem: Bool
    }

    typealias Result = @Sendable (SecTrust, [Data], ServerTrust.Verdict?) -> Void

    /// Starts evaluations, whose results also arrive on it.
    static let queue = DispatchQueue(label: "Martlet.Trust")

    /// Runs evaluations that block their thread, such as those of proxies' certificates.
    static let blockingQueue = DispatchQueue(label: "Martlet.BlockingTrust", attributes: .concurrent)

    /// The roots of the settings, or `nil` for the system's own; throws if one of them is unreadable.
    static func roots(of settings: TLSSettings) throws(InvalidInput) -> Roots? {
      guard let material = settings.trust.material else { return nil }
      let certificates = material.certificates
      for (index, certificate) in certificates.enumerated() {
        guard SecCertificateCreateWithData(nil, certificate as CFData) != nil else {
          throw InvalidInput("the system cannot read certificate \(index + 1) of the custom roots")
        }
      }
      let isOnly = if case .only = settings.trust { true } else { false }
      return Roots(certificates: certificates, replaceSystem: isOnly)
    }

    /// Evaluates a chain; call it on ``queue``.
    static func evaluate(_ trust: SecTrust, _ roots: Roots?, _ result: @escaping Result) {
      if let roots, let problem = use(roots, for: trust) { return result(trust, [], .unclear(problem)) }
      let status = SecTrustEvaluateAsyncWithError(trust, queue) { trust, isTrusted, error in
        result(trust, chain(of: trust), verdict(isTrusted, error, trust))
      }
      if status != errSecSuccess { result(trust, [], .unclear("status \(status)")) }
    }

    /// Evaluates a chain at once; may wait for the network.
    static func evaluated(_ trust: SecTrust, _ roots: Roots?) -> ([Data], ServerTrust.Verdict) {
      if let roots, let problem = use(roots, for: trust) { return ([], .unclear(problem)) }
      var error: CFError?
      let isTrusted = SecTrustEvaluateWithError(trust, &error)
      return (chain(of: trust), verdict(isTrusted, error, trust))
    }

    private static func verdict(_ isTrusted: Bool, _ error: CFError?, _ trust: SecTrust) -> ServerTrust.Verdict {
      var result = SecTrustResultType.invalid
      let isKnown = SecTrustGetTrustResult(trust, &result) == errSecSuccess
      return ServerTrust.Verdict(
        isTrusted: isTrusted, result: isKnown ? result.rawValue : nil,
        failure: error.map { (CFErrorCopyDescription($0) as String?) ?? "no reason" })
    }

    /// The certificates of a peer, beginning with its own.
    static func chain(of trust: SecTrust) -> [Data] {
      let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate]
      return chain?.map { SecCertificateCopyData($0) as Data } ?? []
    }

    /// Adds or replaces roots; returns a problem.
    private static func use(_ roots: Roots, for trust: SecTrust) -> String? {
      let certificates = roots.certificates.compactMap { SecCertificateCreateWithData(nil, $0 as CFData) }
      guard !certificates.isEmpty, certificates.count == roots.certificates.count else { return "unreadable roots" }
      let first = SecTrustSetAnchorCertificates(trust, certificates as CFArray)
      guard first == errSecSuccess else { return "status \(first) for the roots" }
      // Without this call, the roots above would replace the system's.
      let second = SecTrustSetAnchorCertificatesOnly(trust, roots.replaceSystem)
      return second == errSecSuccess ? nil : "status \(second) for the system's roots"
    }
  }

  /// Client certificates in the system's form.
  enum SystemIdentity {
    /// The credential with a client certificate; throws if there is not exactly one.
    ///
    /// Blocks while it decrypts, or searches the keychain.
    static func credential(for certificate: TLSSettings.ClientCertificate) throws(InvalidInput) -> URLCredential {
      switch certificate.source {
      case .pem: throw InvalidInput("the client certificate is PEM: use .pkcs12")
      case .pkcs12(let material): return try imported(material.bytes, certificate.password ?? "")
      case .keychain(let label): return try found(label)
      }
    }

    private static func imported(_ bytes: Data, _ password: String) throws(InvalidInput) -> URLCredential {
      // Without `kSecImportToMemoryOnly`, macOS adds the key to a keychain.
      let options: [String: Any] = [
        kSecImportExportPassphrase as String: password, kSecImportToMemoryOnly as String: true,
      ]
      var items: CFArray?
      let status = SecPKCS12Import(bytes as CFData, options as CFDictionary, &items)
      let entries = items as? [[String: Any]] ?? []
      let identities = identities(entries.compactMap { $0[kSecImportItemIdentity as String] })
      if let problem = ClientIdentity.problem(ofImport: status, identities: identities.count) { throw problem }
      let chain = entries.lazy.filter { $0[kSecImportItemIdentity as String] != nil }
        .compactMap { $0[kSecImportItemCertChain as String] as? [SecCertificate] }.first
      return try credential(identities, Array(chain?.dropFirst() ?? []))
    }

    private static func found(_ label: String) throws(InvalidInput) -> URLCredential {
      let query: [String: Any] = [
        kSecClass as String: kSecClassIdentity, kSecAttrLabel as String: label,
        kSecMatchLimit as String: kSecMatchLimitAll, kSecReturnRef as String: true,
        kSecReturnAttributes as String: true,
      ]
      var result: CFTypeRef?
      let status = SecItemCopyMatching(query as CFDictionary, &result)
      // On macOS, the search may find items with other labels.
      let items = (result as? [[String: Any]] ?? []).filter { $0[kSecAttrLabel as String] as? String == label }
      let identities = identities(items.compactMap { $0[kSecValueRef as String] })
      if let problem = ClientIdentity.problem(ofSearch: status, identities: identities.count, label: label) {
        throw problem
      }
      return try credential(identities, [])
    }

    private static func identities(_ values: [Any]) -> [SecIdentity] {
      let items = values.filter { CFGetTypeID($0 as CFTypeRef) == SecIdentityGetTypeID() }
      return items as? [SecIdentity] ?? []
    }

    private static func credential(
      _ identities: [SecIdentity], _ intermediates: [SecCertificate]
    ) throws(InvalidInput) -> URLCredential {
      guard let identity = identities.first else { throw InvalidInput("the client certificate is missing") }
      return URLCredential(
        identity: identity, certificates: intermediates.isEmpty ? nil : intermediates, persistence: .none)
    }
  }
#endif
