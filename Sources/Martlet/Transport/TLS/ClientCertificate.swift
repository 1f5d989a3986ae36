public import Foundation

extension TLSSettings {
  /// A client certificate with its private key.
  ///
  /// It is shown to every server of the client that asks for one. A password that is wrong, or a key that does not
  /// belong to the certificate, is found when the first connection is made, and is ``HTTPError/Kind/tls``.
  public struct ClientCertificate: Sendable, Hashable {
    enum Form: Sendable, Hashable {
      case pem(certificate: TLSMaterial, key: TLSMaterial)
      case pkcs12(TLSMaterial)
    }

    let form: Form
    let password: String?

    /// A certificate and its key in two PEM files, which may be the same one.
    ///
    /// - Parameters:
    ///   - certificate: The certificate, followed by those between it and a root, read now.
    ///   - key: The key, read now.
    ///   - password: What the key is encrypted with; without one, an encrypted key is an error.
    /// - Returns: The certificate.
    public static func pem(certificate: URL, key: URL, password: String? = nil) -> ClientCertificate {
      ClientCertificate(
        form: .pem(certificate: .certificates(in: certificate), key: .key(in: key, hasPassword: password != nil)),
        password: password)
    }

    /// A certificate and its key as PEM texts.
    ///
    /// - Parameters:
    ///   - certificate: The certificate, followed by those between it and a root.
    ///   - key: The key.
    ///   - password: What the key is encrypted with; without one, an encrypted key is an error.
    /// - Returns: The certificate.
    public static func pem(certificate: Data, key: Data, password: String? = nil) -> ClientCertificate {
      ClientCertificate(
        form: .pem(certificate: .certificates(in: certificate), key: .key(in: key, hasPassword: password != nil)),
        password: password)
    }

    /// A certificate and its key in a PKCS #12 file (RFC 7292), also known as `.p12` and `.pfx`.
    ///
    /// - Parameters:
    ///   - file: The file, read now.
    ///   - password: What it is encrypted with.
    /// - Returns: The certificate.
    public static func pkcs12(_ file: URL, password: String? = nil) -> ClientCertificate {
      ClientCertificate(form: .pkcs12(.pkcs12(in: file)), password: password)
    }

    /// A certificate and its key as PKCS #12 (RFC 7292).
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - password: What they are encrypted with.
    /// - Returns: The certificate.
    public static func pkcs12(_ data: Data, password: String? = nil) -> ClientCertificate {
      ClientCertificate(form: .pkcs12(.pkcs12(in: data)), password: password)
    }

    var isUnread: Bool {
      switch form {
      case .pem(let certificate, let key): certificate.isUnread || key.isUnread
      case .pkcs12(let material): material.isUnread
      }
    }

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
      switch form {
      case .pem(let certificate, let key): return certificate.problem ?? key.problem
      case .pkcs12(let material): return material.problem
      }
    }
  }
}

// No password and no key in logs and dumps.
extension TLSSettings.ClientCertificate: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The format; never a password or a key.
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
