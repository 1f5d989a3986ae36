public import MartletBase

/// A cookie (RFC 6265bis).
///
/// The description and `dump` show the name and the scope, but not the value. The encoded form contains the value.
public struct Cookie: Sendable, Hashable, Codable {
  /// When a cookie is sent with cross-site requests (RFC 6265bis §5.6.7).
  ///
  /// The only cross-site requests of a client are redirects from another site.
  @nonexhaustive public enum SameSite: String, Sendable, Hashable, Codable {
    /// Always; requires ``Cookie/isSecure``.
    case unrestricted = "none"
    /// With safe methods only (RFC 9110 §9.2.1); also applies to cookies without the attribute.
    case lax
    /// Never.
    case strict
  }

  /// The name; it may be empty.
  public var name: String { didSet { nameOctets = nil } }

  /// The value, with quotes if the server sent quotes.
  ///
  /// Octets from a server that are not UTF-8 are read as ISO 8859-1, and sent back unchanged (RFC 6265bis §5.8.3).
  public var value: String { didSet { valueOctets = nil } }

  /// The octets of the name and of the value, if they are not UTF-8.
  private var nameOctets: [UInt8]?
  private var valueOctets: [UInt8]?

  /// The host, in lower case and ASCII, without a leading dot.
  ///
  /// A cookie for ``CookiePolicy/only(_:)`` may have an empty domain, and is then sent to the origin of the call.
  public var domain: String

  /// Whether the cookie is sent only to the host itself, and not to subdomains.
  public var isHostOnly: Bool

  /// The path that URLs must equal or be below.
  public var path: String

  /// The expiration date, or `nil` for the end of the session.
  public var expires: Date?

  /// Whether the cookie is sent only over https.
  public var isSecure: Bool

  /// Whether the server hides the cookie from scripts; stored without effect.
  public var isHTTPOnly: Bool

  /// The `SameSite` attribute, if there is one.
  public var sameSite: SameSite?

  /// When a jar first received the cookie; otherwise the distant past.
  public internal(set) var created = Date.distantPast

  /// When a jar last sent or received the cookie; otherwise the distant past.
  public internal(set) var lastAccess = Date.distantPast

  /// Creates a cookie, which is validated when it is stored or sent.
  ///
  /// - Parameters:
  ///   - name: The name.
  ///   - value: The value.
  ///   - domain: The host.
  ///   - isHostOnly: Whether the cookie is sent only to the host itself.
  ///   - path: The path that URLs must equal or be below.
  ///   - expires: The expiration date; `nil` for the end of the session.
  ///   - isSecure: Whether the cookie is sent only over https.
  ///   - isHTTPOnly: Whether the cookie is hidden from scripts.
  ///   - sameSite: When the cookie is sent after redirects from another site.
  public init(
    _ name: String, _ value: String, domain: String = "", isHostOnly: Bool = true, path: String = "/",
    expires: Date? = nil, isSecure: Bool = false, isHTTPOnly: Bool = false, sameSite: SameSite? = nil
  ) {
    self.name = name
    self.value = value
    self.domain = domain
    self.isHostOnly = isHostOnly
    self.path = path
    self.expires = expires
    self.isSecure = isSecure
    self.isHTTPOnly = isHTTPOnly
    self.sameSite = sameSite
  }

  /// Whether the cookie has no expiration date, and ends with the session.
  public var isSessionCookie: Bool { expires == nil }

  /// The authority that vouches for the cookie (``NetworkPartition/authority``).
  ///
  /// `nil` for a cookie from the program, which all clients send.
  var partition: String?

  /// The identity of a cookie in a jar.
  struct Key: Hashable, Sendable {
    let name: String
    let domain: String
    let isHostOnly: Bool
    let path: String
    let partition: String?

    /// The key without the partition.
    var anywhere: Key { Key(name: name, domain: domain, isHostOnly: isHostOnly, path: path, partition: nil) }

    /// Whether no client sends both cookies, so one replaces the other.
    func excludes(_ other: Key) -> Bool {
      anywhere == other.anywhere && (partition == other.partition || partition == nil || other.partition == nil)
    }
  }

  /// The name and the value as they are sent.
  var octets: (name: [UInt8], value: [UInt8]) { (nameOctets ?? Array(name.utf8), valueOctets ?? Array(value.utf8)) }

  /// The name and the value as ``WireText``.
  var wireName: String { WireText.make(octets.name) }
  var wireValue: String { WireText.make(octets.value) }

  /// Whether the name and the value are those that are sent; a file may contain others.
  var hasTrueTexts: Bool {
    nameOctets.map { ReceivedFields.text($0) == name } ?? true
      && valueOctets.map { ReceivedFields.text($0) == value } ?? true
  }

  /// Whether the name or the value is not UTF-8.
  var hasOtherOctets: Bool { nameOctets != nil || valueOctets != nil }

  /// Uses the octets that a response has set, if they are not UTF-8.
  mutating func adoptOctets(of line: SetCookie) {
    if line.name.utf8.count != line.octets.name.count { nameOctets = line.octets.name }
    if line.value.utf8.count != line.octets.value.count { valueOctets = line.octets.value }
  }

  var key: Key {
    Key(
      name: nameOctets == nil ? name : wireName, domain: domain, isHostOnly: isHostOnly, path: path,
      partition: partition)
  }

  /// Whether a client with this partition sends the cookie; `nil` means any client.
  func isVisible(in partition: String?) -> Bool {
    partition == nil || self.partition == nil || self.partition == partition
  }

  func isExpired(_ now: Date) -> Bool { expires.map { $0 <= now } ?? false }
}

extension Cookie: CustomStringConvertible, CustomReflectable {
  /// The name and the scope, on one line, with a masked value.
  public var description: String {
    let place = InvalidInput.printable("\(isHostOnly ? "" : ".")\(domain)\(path)")
    return "\(InvalidInput.printable(name))=… (\(place))"
  }

  /// A mirror without the value.
  public var customMirror: Mirror {
    Mirror(self, children: ["name": name, "domain": domain, "path": path], displayStyle: .struct)
  }
}
