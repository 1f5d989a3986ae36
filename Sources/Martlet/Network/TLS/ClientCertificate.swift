public import MartletBase

extension TLSSettings {
  /// A client certificate with its private key.
  ///
  /// Presented to every server that requests one. A wrong password, or a key that does not belong to the certificate,
  /// is detected at the first connection, which fails with ``HTTPError/Kind/tls``.
  public struct ClientCertificate: Sendable, Hashable {
    /// The certificate in PEM, or PKCS #12 with its key.
    let certificate: TLSMaterial
    /// The key in PEM; `nil` with PKCS #12.
    let key: TLSMaterial?
    let password: String?

    /// A certificate and its key in two PEM files, which may be the same file.
    ///
    /// - Parameters:
    ///   - certificate: The file of the certificate, followed by its intermediate certificates; read immediately.
    ///   - key: The file of the key; read immediately.
    ///   - password: The password of the key; without one, an encrypted key is an error.
    /// - Returns: The certificate.
    public static func pem(certificate: URL, key: URL, password: String? = nil) -> ClientCertificate {
      ClientCertificate(
        certificate: TLSMaterial(certificate, .certificates), key: TLSMaterial(key, .key(hasPassword: password != nil)),
        password: password)
    }

    /// A certificate and its key as PEM texts.
    ///
    /// - Parameters:
    ///   - certificate: The certificate, followed by its intermediate certificates.
    ///   - key: The key.
    ///   - password: The password of the key; without one, an encrypted key is an error.
    /// - Returns: The certificate.
    public static func pem(certificate: Data, key: Data, password: String? = nil) -> ClientCertificate {
      ClientCertificate(
        certificate: TLSMaterial(certificate, .certificates), key: TLSMaterial(key, .key(hasPassword: password != nil)),
        password: password)
    }

    /// A certificate and its key in a PKCS #12 file (RFC 7292), also known as `.p12` and `.pfx`.
    ///
    /// - Parameters:
    ///   - file: The file; read immediately.
    ///   - password: The password of the file.
    /// - Returns: The certificate.
    public static func pkcs12(_ file: URL, password: String? = nil) -> ClientCertificate {
      ClientCertificate(certificate: TLSMaterial(file, .pkcs12), key: nil, password: password)
    }

    /// A certificate and its key as PKCS #12 (RFC 7292).
    ///
    /// - Parameters:
    ///   - data: The PKCS #12 data.
    ///   - password: The password of the data.
    /// - Returns: The certificate.
    public static func pkcs12(_ data: Data, password: String? = nil) -> ClientCertificate {
      ClientCertificate(certificate: TLSMaterial(data, .pkcs12), key: nil, password: password)
    }

    var materials: [TLSMaterial] { [certificate, key].compactMap { $0 } }

    var isUnread: Bool { materials.contains(where: \.isUnread) }

    var reread: ClientCertificate {
      ClientCertificate(certificate: certificate.reread, key: key?.reread, password: password)
    }

    var problem: InvalidInput? {
      if let password, password.utf8.contains(0) {
        return InvalidInput("the client certificate's password contains a zero octet")
      }
      return materials.lazy.compactMap(\.problem).first
    }
  }
}

// Keeps passwords and keys out of logs and dumps.
extension TLSSettings.ClientCertificate: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The format, without password or key.
  public var description: String { key == nil ? "PKCS #12" : "PEM" }

  /// The same as ``description``.
  public var debugDescription: String { description }

  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
