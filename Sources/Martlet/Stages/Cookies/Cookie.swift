public import Foundation

/// A cookie (RFC 6265bis).
///
/// The description and `dump` show the name and where it belongs, never the value; what is encoded has it.
public struct Cookie: Sendable, Hashable, Codable {
  /// When a cookie goes along with a request that another site caused (RFC 6265bis §5.6.7).
  ///
  /// The only such requests here are redirects from another site.
  public enum SameSite: String, Sendable, Hashable, Codable {
    /// Always; only together with ``Cookie/isSecure``.
    case unrestricted = "none"
    /// With safe methods only (RFC 9110 §9.2.1); also what a cookie has that says nothing.
    case lax
    /// Never.
    case strict
  }

  /// The name; it may be empty.
  public var name: String

  /// The value, with quotes if the server sent quotes.
  public var value: String

  /// The host that it belongs to, in lower case and ASCII, without a dot before it.
  ///
  /// Empty in a cookie made for ``CookiePolicy/only(_:)``, which then goes to the origin of the call.
  public var domain: String

  /// Whether it goes to that host only, and not to the names below it.
  public var isHostOnly: Bool

  /// The path that a URL must have or begin with.
  public var path: String

  /// When it ends, or `nil` for the end of the session.
  public var expires: Date?

  /// Whether it goes over https only.
  public var isSecure: Bool

  /// Whether the server wanted it hidden from scripts; only stored.
  public var isHTTPOnly: Bool

  /// What it said of other sites, if anything.
  public var sameSite: SameSite?

  /// When a jar got it first; the distant past if none did.
  public internal(set) var created = Date.distantPast

  /// When a jar last sent it, or got it; the distant past if none did.
  public internal(set) var lastAccess = Date.distantPast

  /// Makes a cookie; it is checked when it is stored or sent.
  ///
  /// - Parameters:
  ///   - name: The name.
  ///   - value: The value.
  ///   - domain: The host that it belongs to.
  ///   - isHostOnly: Whether it goes to that host only.
  ///   - path: The path that URLs must begin with.
  ///   - expires: When it ends; `nil` for the end of the session.
  ///   - isSecure: Whether it goes over https only.
  ///   - isHTTPOnly: Whether it is hidden from scripts.
  ///   - sameSite: What holds for redirects from another site.
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

  /// Whether it ends with the session, having no date.
  public var isSessionCookie: Bool { expires == nil }

  /// What vouches for it (``NetworkPartition/authority``); `nil` for the program, whose cookies every client sends.
  var partition: String?

  /// What makes two cookies the same one in a jar.
  struct Key: Hashable, Sendable {
    let name: String
    let domain: String
    let isHostOnly: Bool
    let path: String
    let partition: String?

    /// The same without what vouches for the cookie.
    var anywhere: Key { Key(name: name, domain: domain, isHostOnly: isHostOnly, path: path, partition: nil) }

    /// Whether no client sends both, so that one takes the place of the other.
    func excludes(_ other: Key) -> Bool {
      anywhere == other.anywhere && (partition == other.partition || partition == nil || other.partition == nil)
    }
  }

  var key: Key { Key(name: name, domain: domain, isHostOnly: isHostOnly, path: path, partition: partition) }

  /// Whether a client with this partition sends it; `nil` asks for any client.
  func isVisible(in partition: String?) -> Bool {
    partition == nil || self.partition == nil || self.partition == partition
  }

  func isExpired(_ now: Date) -> Bool { expires.map { $0 <= now } ?? false }
}

extension Cookie: CustomStringConvertible, CustomReflectable {
  /// The name and where it belongs, on one line and with the value masked.
  public var description: String {
    let place = InvalidInput.printable("\(isHostOnly ? "" : ".")\(domain)\(path)")
    return "\(InvalidInput.printable(name))=… (\(place))"
  }

  /// A mirror that shows no value.
  public var customMirror: Mirror {
    Mirror(self, children: ["name": name, "domain": domain, "path": path], displayStyle: .struct)
  }
}
