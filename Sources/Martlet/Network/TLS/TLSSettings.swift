public import MartletBase

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
/// The settings apply to a whole client, never to one request. Clients share no connections, and a derived client with
/// other settings opens its own. Files are read when they are named. An invalid file or pin makes every request throw
/// ``HTTPError/Kind/invalidRequest``, before anything is sent. A server that is not trusted, or that rejects the
/// client's certificate, causes ``HTTPError/Kind/tls``. If a file could not be read for lack of file descriptors or
/// memory, the next request reads it again, and throws ``HTTPError/Kind/fileFailed`` if that fails.
///
/// With the Linux engine, a client checks at most once a second whether files have changed, and uses their new contents
/// for new connections; requests in progress are not affected. A changed file may still be being written, so it is read
/// once its change is a second old, or two checks have seen the same. While a new file is invalid, or a certificate and
/// its key do not belong together, the client keeps the last valid contents of all files, and
/// ``HTTPClient/diagnostics`` reports why. For contents that must stay, pass `Data`.
///
/// The settings apply to servers. For the connection to an `https` proxy, only the roots and ``minimumVersion`` apply.
///
/// On Apple platforms, the system evaluates certificates, and everything but a clear success is a refusal. The system's
/// own requirements and App Transport Security apply in addition. In an app, a server that only its own roots or
/// ``insecureTrustAnything`` make trusted therefore needs an exception in the `Info.plist`, such as
/// `NSExceptionAllowsInsecureHTTPLoads` for its domain. ``allowsMissingCloseNotify`` has no effect there.
///
/// On Linux, the system's loader (`.urlSession(loader: .system)`) supports only the default, and throws
/// ``HTTPError/Kind/unsupported`` otherwise.
public struct TLSSettings: Sendable, Hashable {
  /// A TLS version.
  @nonexhaustive public enum Version: String, Sendable, Hashable {
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

  /// The public key pins, one of which the server must match; none by default.
  ///
  /// Pins are checked in addition to everything else. A pin is `sha256//` and the base64 of the SHA-256 of the DER of a
  /// `SubjectPublicKeyInfo` (RFC 7469 §2.4); `sha256/` is also accepted. Only the key of the server's own certificate
  /// counts, not those of the certificates above it. An empty list is an error, because no server could match it.
  public var pins: [String]?

  /// The minimum TLS version; 1.2 by default.
  public var minimumVersion = Version.v1_2

  /// The client certificate; `nil` by default.
  public var clientCertificate: ClientCertificate?

  /// Whether a TLS connection may end a body without `close_notify`; `false` by default.
  ///
  /// Applies to a body with neither `Content-Length` nor chunks, which only the end of its connection ends. An attacker
  /// on the path could truncate such a body (RFC 9112 §9.8), so without `close_notify` it throws
  /// ``HTTPError/Kind/connectionLost``. For servers that never close TLS properly.
  public var allowsMissingCloseNotify = false

  private init(_ trust: Trust) { self.trust = trust }

  // MARK: Trust

  /// The system's root certificates; the default.
  public static let system = TLSSettings(.system)

  /// The system's root certificates and those of a PEM file.
  ///
  /// - Parameter pem: A file with at least one certificate; read immediately, and again when it changes.
  /// - Returns: The settings.
  public static func system(adding pem: URL) -> TLSSettings { TLSSettings(.systemAnd(.init(pem, .certificates))) }

  /// The system's root certificates and those of a PEM text.
  ///
  /// - Parameter pem: A text with at least one certificate.
  /// - Returns: The settings.
  public static func system(adding pem: Data) -> TLSSettings { TLSSettings(.systemAnd(.init(pem, .certificates))) }

  /// The root certificates of a PEM file, without the system's.
  ///
  /// A certificate in the file need not be a root: each one is trusted, and so is every certificate that it has signed.
  ///
  /// - Parameter pem: A file with at least one certificate; read immediately, and again when it changes.
  /// - Returns: The settings.
  public static func customRoots(pem: URL) -> TLSSettings { TLSSettings(.only(.init(pem, .certificates))) }

  /// The root certificates of a PEM text, without the system's.
  ///
  /// - Parameter pem: A text with at least one certificate.
  /// - Returns: The settings.
  public static func customRoots(pem: Data) -> TLSSettings { TLSSettings(.only(.init(pem, .certificates))) }

  /// The system's root certificates, with public key pins.
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
  /// For tests on the local machine. With ``pins``, the public key of the certificate is checked, and nothing else.
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

  /// Whether a file could not be read for lack of descriptors or memory.
  var isUnread: Bool { trust.material?.isUnread == true || clientCertificate?.isUnread == true }

  /// The settings with files read again that could not be read for lack of descriptors or memory.
  var reread: TLSSettings { mapped(\.reread) }

  /// The settings with all files read again.
  var renewed: TLSSettings { mapped(\.renewed) }

  /// The files of the settings.
  var files: [TLSMaterial.File] {
    ([trust.material].compactMap { $0 } + (clientCertificate?.materials ?? [])).compactMap(\.file)
  }

  private func mapped(_ change: (TLSMaterial) -> TLSMaterial) -> TLSSettings {
    var settings = self
    switch trust {
    case .system, .anything: break
    case .systemAnd(let material): settings.trust = .systemAnd(change(material))
    case .only(let material): settings.trust = .only(change(material))
    }
    settings.clientCertificate = clientCertificate?.mapped(change)
    return settings
  }

  /// The valid pins, as `sha256//…`.
  var normalizedPins: [String]? { pins?.compactMap(Self.normalized) }

  private static func normalized(_ pin: String) -> String? {
    // The base64 itself may begin with a slash, so the prefix is chosen that leaves 32 bytes.
    for prefix in ["sha256//", "sha256/"] where pin.hasPrefix(prefix) {
      guard let hash = Data(base64Encoded: String(pin.dropFirst(prefix.count))), hash.count == 32 else { continue }
      return "sha256//\(hash.base64EncodedString())"
    }
    return nil
  }
}

// Keeps passwords and keys out of logs and dumps.
extension TLSSettings: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The trust settings, without passwords or keys.
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
