public import Foundation

extension TLSSettings {
  /// A client certificate with its private key.
  ///
  /// Presented to every server that requests one. A wrong password, or a key that does not belong to the certificate,
  /// is detected at the first connection, which fails with ``HTTPError/Kind/tls``.
  public struct ClientCertificate: Sendable, Hashable {
    enum Form: Sendable, Hashable {
      case pem(certificate: TLSMaterial, key: TLSMaterial)
      case pkcs12(TLSMaterial)
    }

    let form: Form
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
        form: .pem(certificate: .init(certificate, .certificates), key: .init(key, .key(hasPassword: password != nil))),
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
        form: .pem(certificate: .init(certificate, .certificates), key: .init(key, .key(hasPassword: password != nil))),
        password: password)
    }

    /// A certificate and its key in a PKCS #12 file (RFC 7292), also known as `.p12` and `.pfx`.
    ///
    /// - Parameters:
    ///   - file: The file; read immediately.
    ///   - password: The password of the file.
    /// - Returns: The certificate.
    public static func pkcs12(_ file: URL, password: String? = nil) -> ClientCertificate {
      ClientCertificate(form: .pkcs12(TLSMaterial(file, .pkcs12)), password: password)
    }

    /// A certificate and its key as PKCS #12 (RFC 7292).
    ///
    /// - Parameters:
    ///   - data: The PKCS #12 data.
    ///   - password: The password of the data.
    /// - Returns: The certificate.
    public static func pkcs12(_ data: Data, password: String? = nil) -> ClientCertificate {
      ClientCertificate(form: .pkcs12(TLSMaterial(data, .pkcs12)), password: password)
    }

    var materials: [TLSMaterial] {
      switch form {
      case .pem(let certificate, let key): [certificate, key]
      case .pkcs12(let material): [material]
      }
    }

    var isUnread: Bool { materials.contains(where: \.isUnread) }

    var reread: ClientCertificate {
      switch form {
      case .pem(let certificate, let key):
        ClientCertificate(form: .pem(certificate: certificate.reread, key: key.reread), password: password)
      case .pkcs12(let material): ClientCertificate(form: .pkcs12(material.reread), password: password)
      }
    }

    var problem: InvalidInput? {
      if let password, password.utf8.contains(0) {
        return InvalidInput("the password of the client certificate has a zero octet")
      }
      return materials.lazy.compactMap(\.problem).first
    }
  }
}

// Keeps passwords and keys out of logs and dumps.
extension TLSSettings.ClientCertificate: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The format, without password and key.
  public var description: String {
    switch form {
    case .pem: "PEM"
    case .pkcs12: "PKCS #12"
    }
  }

  /// The same as ``description``.
  public var debugDescription: String { description }

  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
