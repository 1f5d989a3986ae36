import MartletBase

/// A protection space: an origin and a realm (RFC 9110 §11.5).
public struct ProtectionSpace: Hashable, Sendable, CustomStringConvertible {
  /// `http` or `https`.
  public var scheme: String
  /// The host in lower case; for a token that several hosts share, its authenticator's host pattern.
  public var host: String
  /// The port.
  public var port: Int
  /// The realm that the server named, or `nil`.
  public var realm: String?
  /// Whether the challenge is from a proxy.
  public var isProxy: Bool

  /// Creates a protection space.
  ///
  /// - Parameters:
  ///   - scheme: `http` or `https`.
  ///   - host: The host in lower case.
  ///   - port: The port.
  ///   - realm: The realm, if there is one.
  ///   - isProxy: Whether the challenge is from a proxy.
  public init(scheme: String, host: String, port: Int, realm: String? = nil, isProxy: Bool = false) {
    self.scheme = scheme
    self.host = host
    self.port = port
    self.realm = realm
    self.isProxy = isProxy
  }

  /// Creates a protection space with a realm as ``WireText``.
  init(_ origin: Origin, realm: String?, isProxy: Bool = false) {
    self.init(
      scheme: origin.scheme, host: origin.host, port: origin.port, realm: realm.map(WireText.readable), isProxy: isProxy
    )
  }

  /// The origin and the realm, on one line.
  public var description: String {
    let place = "\(isProxy ? "proxy " : "")\(scheme)://\(host):\(port)"
    return realm.map { "\(place) \"\(InvalidInput.printable(Redaction.strict.text($0)))\"" } ?? place
  }
}

/// A challenge from a server or a proxy (RFC 9110 §11.3).
public struct AuthenticationChallenge: Sendable {
  /// The protection space of the credential.
  public var space: ProtectionSpace
  /// The strongest scheme that the server offers and the authenticator supports.
  public var scheme: AuthenticationScheme
  /// The other parameters of the challenge, such as `scope` and `error` (RFC 6750 §3).
  ///
  /// Names are in lower case. Values are text from the server: escape them before display.
  public var parameters: [String: String] = [:]
  /// The number of credentials rejected for this space since one was last accepted.
  public var previousFailures = 0
  /// The rejected credential, or the expired token.
  public var rejected: Credential?

  /// The host that sent the challenge.
  public var host: String { space.host }
  /// The realm, or `nil`; text from the server, to be escaped before display.
  public var realm: String? { space.realm }
  /// Whether the challenge is from a proxy.
  public var isProxy: Bool { space.isProxy }
  /// Whether the credential would be readable on the network: over http, without Digest.
  public var isSentInClear: Bool { space.scheme == "http" && scheme != .digest }
}
