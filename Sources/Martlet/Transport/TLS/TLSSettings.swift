public import Foundation

/// TLS trust and client certificates.
///
/// ```swift
/// let client = HTTPClient {
///   $0.tls = .customRoots(pem: URL(filePath: "/etc/acme/roots.pem"))
///   $0.tls.pins = ["sha256//YhKJKSzoTt2b5FP18fvpHo7fJYqQCjAa3HWY3tvRMwE="]
///   $0.tls.clientCertificate = .pkcs12(URL(filePath: "/etc/acme/me.p12"), password: secret)
/// }
/// ```
///
/// The settings are a client's, never a request's, and no two clients share a connection: with other settings a client
/// opens connections of its own. Files are read once, when they are named. What is wrong with them, or with a pin, is
/// thrown by every request as ``HTTPError/Kind/invalidRequest``, before anything is sent; a server that is not
/// believed, or does not believe the client, is ``HTTPError/Kind/tls``. A file that could not be read because no
/// descriptor or no memory was left is read again by the next request, which throws ``HTTPError/Kind/file`` as long as
/// that is so.
///
/// They hold for servers; the connection to a proxy is not theirs.
public struct TLSSettings: Sendable, Hashable {
  /// The versions of TLS that can be asked for.
  public enum Version: String, Sendable, Hashable {
    /// TLS 1.2 (RFC 5246).
    case v1_2 = "1.2"
    /// TLS 1.3 (RFC 8446).
    case v1_3 = "1.3"
  }

  enum Trust: Sendable, Hashable {
    case system
    case systemAnd(TLSMaterial)
    case only(TLSMaterial)
    case anything

    var material: TLSMaterial? {
      switch self {
      case .system, .anything: nil
      case .systemAnd(let material), .only(let material): material
      }
    }
  }

  private(set) var trust: Trust

  /// Public keys of which the server's certificate has to have one, in addition to all other checks; none by default.
  ///
  /// A pin is `sha256//` and the base64 of the SHA-256 of the DER of a `SubjectPublicKeyInfo` (RFC 7469 §2.4);
  /// `sha256/` is understood too. Only the key of the server's own certificate counts, not those of the certificates
  /// above it. An empty list is an error, because no server could match it.
  public var pins: [String]?

  /// The minimum TLS version; 1.2 by default.
  public var minimumVersion = Version.v1_2

  /// The client certificate; `nil` by default.
  public var clientCertificate: ClientCertificate?

  /// Whether a body that only the end of its connection ends is whole where the server closes without a `close_notify`;
  /// `false` by default.
  ///
  /// Such a body has neither `Content-Length` nor chunks, and anybody on the way could cut it (RFC 9112 §9.8), so it is
  /// ``HTTPError/Kind/connectionLost``. For servers that never close properly.
  public var allowsMissingCloseNotify = false

  private init(_ trust: Trust) { self.trust = trust }

  // MARK: Trust

  /// The roots of the system; the default.
  public static let system = TLSSettings(.system)

  /// The roots of the system and those of a PEM file.
  ///
  /// - Parameter pem: A file with at least one certificate, read now.
  /// - Returns: The settings.
  public static func system(adding pem: URL) -> TLSSettings { TLSSettings(.systemAnd(.certificates(in: pem))) }

  /// The roots of the system and those of a PEM text.
  ///
  /// - Parameter pem: A text with at least one certificate.
  /// - Returns: The settings.
  public static func system(adding pem: Data) -> TLSSettings { TLSSettings(.systemAnd(.certificates(in: pem))) }

  /// The roots of a PEM file, and none of the system's.
  ///
  /// A certificate in it need not be a root: whatever stands there is believed, and what it has signed.
  ///
  /// - Parameter pem: A file with at least one certificate, read now.
  /// - Returns: The settings.
  public static func customRoots(pem: URL) -> TLSSettings { TLSSettings(.only(.certificates(in: pem))) }

  /// The roots of a PEM text, and none of the system's.
  ///
  /// - Parameter pem: A text with at least one certificate.
  /// - Returns: The settings.
  public static func customRoots(pem: Data) -> TLSSettings { TLSSettings(.only(.certificates(in: pem))) }

  /// The roots of the system, and one of these public keys.
  ///
  /// - Parameter pins: See ``pins``.
  /// - Returns: The settings.
  public static func pins(_ pins: [String]) -> TLSSettings {
    var settings = TLSSettings.system
    settings.pins = pins
    return settings
  }

  /// Disables all certificate and host name checks: traffic can be read and changed.
  ///
  /// For tests on the own machine. With ``pins`` the key of the certificate is checked, and nothing else of it.
  public static let insecureTrustAnything = TLSSettings(.anything)

  // MARK: Checks

  var problem: InvalidInput? {
    if let problem = trust.material?.problem { return problem }
    if let pins {
      guard !pins.isEmpty else { return InvalidInput("the list of pins is empty, so no server could match it") }
      for pin in pins where Self.normalized(pin) == nil {
        return InvalidInput(
          "the pin '\(InvalidInput.printable(pin))' is not 'sha256//' and the base64 of the 32 bytes of a SHA-256")
      }
    }
    return clientCertificate?.problem
  }

  /// Whether a file could not be read for a reason that passes: no descriptor or no memory was left.
  var isUnread: Bool { trust.material?.isUnread == true || clientCertificate?.isUnread == true }

  var reread: TLSSettings {
    var settings = self
    switch trust {
    case .system, .anything: break
    case .systemAnd(let material): settings.trust = .systemAnd(material.reread)
    case .only(let material): settings.trust = .only(material.reread)
    }
    settings.clientCertificate = clientCertificate?.reread
    return settings
  }

  /// The pins as `sha256//…`, without those that are none.
  var normalizedPins: [String]? { pins?.compactMap(Self.normalized) }

  private static func normalized(_ pin: String) -> String? {
    // The base64 may begin with a slash itself: the prefix is the one that leaves 32 bytes.
    for prefix in ["sha256//", "sha256/"] where pin.hasPrefix(prefix) {
      guard let hash = Data(base64Encoded: String(pin.dropFirst(prefix.count))), hash.count == 32 else { continue }
      return "sha256//\(hash.base64EncodedString())"
    }
    return nil
  }
}

// No password and no key in logs and dumps.
extension TLSSettings: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Whom it trusts, in words; never a password or a key.
  public var description: String {
    var parts: [String]
    switch trust {
    case .system: parts = ["system roots"]
    case .systemAnd: parts = ["system and custom roots"]
    case .only: parts = ["custom roots"]
    case .anything: parts = ["trusts anything"]
    }
    if let pins { parts.append(pins.count == 1 ? "1 pin" : "\(pins.count) pins") }
    parts.append("TLS \(minimumVersion.rawValue) or later")
    if allowsMissingCloseNotify { parts.append("without close_notify") }
    if let clientCertificate { parts.append("client certificate (\(clientCertificate))") }
    return parts.joined(separator: ", ")
  }

  /// The same as ``description``.
  public var debugDescription: String { description }

  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
