public import MartletBase

extension TLSSettings {
  /// A client certificate with its private key.
  ///
  /// Presented to every server that requests one, but to no proxy.
  ///
  /// On Linux, a wrong password, or a key that does not belong to the certificate, is detected at the first connection,
  /// which fails with ``HTTPError/Kind/tls``; ``HTTPClient/diagnostics`` names such files. On Apple platforms, a wrong
  /// password, or PKCS #12 without a certificate and its key, or with several, makes every request throw
  /// ``HTTPError/Kind/invalidRequest`` before anything is sent. PEM throws ``HTTPError/Kind/unsupported`` there, so
  /// convert it: `openssl pkcs12 -export -legacy -in me.pem -inkey me.key -out me.p12`. Apple platforms do not add the
  /// certificate to a keychain.
  public struct ClientCertificate: Sendable, Hashable {
    enum Source: Sendable, Hashable {
      case pem(certificate: TLSMaterial, key: TLSMaterial)
      case pkcs12(TLSMaterial)
      /// An item of Apple's keychain.
      case keychain(label: String)
    }

    let source: Source
    let password: String?

    /// A certificate and its key in two PEM files, which may be the same file.
    ///
    /// - Parameters:
    ///   - certificate: The file of the certificate, followed by its intermediate certificates; read immediately, and
    ///     again when it changes.
    ///   - key: The file of the key; read immediately, and again when it changes.
    ///   - password: The password of the key; without one, an encrypted key is an error.
    /// - Returns: The certificate.
    public static func pem(certificate: URL, key: URL, password: String? = nil) -> ClientCertificate {
      let key = TLSMaterial(key, .key(hasPassword: password != nil))
      return ClientCertificate(
        source: .pem(certificate: TLSMaterial(certificate, .certificates), key: key), password: password)
    }

    /// A certificate and its key as PEM texts.
    ///
    /// - Parameters:
    ///   - certificate: The certificate, followed by its intermediate certificates.
    ///   - key: The key.
    ///   - password: The password of the key; without one, an encrypted key is an error.
    /// - Returns: The certificate.
    public static func pem(certificate: Data, key: Data, password: String? = nil) -> ClientCertificate {
      let key = TLSMaterial(key, .key(hasPassword: password != nil))
      return ClientCertificate(
        source: .pem(certificate: TLSMaterial(certificate, .certificates), key: key), password: password)
    }

    /// A certificate and its key in a PKCS #12 file (RFC 7292), also known as `.p12` and `.pfx`.
    ///
    /// - Parameters:
    ///   - file: The file; read immediately, and with the Linux engine again when it changes.
    ///   - password: The password of the file.
    /// - Returns: The certificate.
    public static func pkcs12(_ file: URL, password: String? = nil) -> ClientCertificate {
      ClientCertificate(source: .pkcs12(TLSMaterial(file, .pkcs12)), password: password)
    }

    /// A certificate and its key as PKCS #12 (RFC 7292).
    ///
    /// - Parameters:
    ///   - data: The PKCS #12 data.
    ///   - password: The password of the data.
    /// - Returns: The certificate.
    public static func pkcs12(_ data: Data, password: String? = nil) -> ClientCertificate {
      ClientCertificate(source: .pkcs12(TLSMaterial(data, .pkcs12)), password: password)
    }

    #if canImport(Security)
      /// A certificate and its key in the keychain of Apple platforms.
      ///
      /// The search for the item precedes a client's first connection; later changes of the keychain have no effect on
      /// that client. On macOS, it covers the user's keychains. If the keychain contains no such item, or several, every
      /// request throws ``HTTPError/Kind/invalidRequest`` before anything is sent.
      ///
      /// - Parameter label: The item's label (`kSecAttrLabel`), which is usually the certificate's common name.
      /// - Returns: The certificate.
      public static func identity(label: String) -> ClientCertificate {
        ClientCertificate(source: .keychain(label: label), password: nil)
      }
    #endif

    var materials: [TLSMaterial] {
      switch source {
      case .pem(let certificate, let key): [certificate, key]
      case .pkcs12(let material): [material]
      case .keychain: []
      }
    }

    var isUnread: Bool { materials.contains(where: \.isUnread) }

    func mapped(_ change: (TLSMaterial) -> TLSMaterial) -> ClientCertificate {
      let mapped: Source =
        switch source {
        case .pem(let certificate, let key): .pem(certificate: change(certificate), key: change(key))
        case .pkcs12(let material): .pkcs12(change(material))
        case .keychain: source
        }
      return ClientCertificate(source: mapped, password: password)
    }

    var problem: InvalidInput? {
      if let password, password.utf8.contains(0) {
        return InvalidInput("the client certificate's password contains a zero octet")
      }
      if source == .keychain(label: "") { return InvalidInput("the label of the client certificate is empty") }
      return materials.lazy.compactMap(\.problem).first
    }
  }
}

// Keeps passwords and keys out of logs and dumps.
extension TLSSettings.ClientCertificate: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The format, without password or key.
  public var description: String {
    switch source {
    case .pem: "PEM"
    case .pkcs12: "PKCS #12"
    case .keychain: "keychain"
    }
  }

  /// The same as ``description``.
  public var debugDescription: String { description }

  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
