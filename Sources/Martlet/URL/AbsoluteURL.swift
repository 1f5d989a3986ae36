package import MartletBase

/// A parsed http or https URL.
///
/// All other parts of the client use this form. Only ``parse(_:)`` and the functions based on it create values, so a
/// value is always valid, normalized and free of control characters. Its ``string`` parses to the same value, except
/// for userinfo.
///
/// An immutable class, because every stage of a request receives it.
package final class AbsoluteURL: Sendable, Hashable {
  /// `http` or `https`, in lower case.
  package let scheme: String
  /// The decoded user name, if the URL had one; never part of ``string``.
  package let user: String?
  /// The decoded password, if the URL had one; never part of ``string``.
  package let password: String?
  /// The host in lower case: a name in ASCII, a dotted quad, or an IPv6 address in brackets.
  package let host: String
  /// The port, or `nil` for the default port of the scheme.
  package let port: Int?
  /// The percent-encoded path, which begins with `/` and has no dot segments.
  package let path: String
  /// The percent-encoded query; an empty one differs from `nil`.
  package let query: String?
  /// The percent-encoded fragment, which is never sent.
  package let fragment: String?
  /// The URL without userinfo.
  package let string: String
  private let made = Locked<URL?>(nil)

  /// Creates a URL from checked and normalized parts.
  ///
  /// Throws if Foundation would read the result differently: if two parsers disagree about a host, an attacker can
  /// bypass every check of the host.
  init(
    scheme: String, authority: URLAuthority, path: String, query: String?, fragment: String?
  ) throws(InvalidInput) {
    self.scheme = scheme
    self.user = authority.user
    self.password = authority.password
    self.host = authority.host
    self.port = authority.port
    self.path = path
    self.query = query
    self.fragment = fragment
    var string = "\(scheme)://\(authority.host)"
    if let port = authority.port { string += ":\(port)" }
    string += path
    if let query { string += "?\(query)" }
    if let fragment { string += "#\(fragment)" }
    self.string = string
    let plain = ASCIISet.plain
    if string.utf8.allSatisfy({ plain.contains($0) }) { return }
    guard let url = URL(string: string), url.absoluteString == string else {
      let shown = InvalidInput.printable(URLRedaction.redact(string))
      throw InvalidInput("Foundation reads the URL \"\(shown)\" differently: percent-encode its special characters")
    }
  }

  /// The URL without userinfo as a Foundation `URL`, created on first use.
  package var url: URL {
    made.withLock { made in
      if let made { return made }
      // Foundation reads each URL that `init` has accepted.
      let url = URL(string: string) ?? Self.localhost.url
      made = url
      return url
    }
  }

  /// `http://localhost/`.
  static let localhost = AbsoluteURL()

  private init() {
    (scheme, user, password, host, port) = ("http", nil, nil, "localhost", nil)
    (path, query, fragment, string) = ("/", nil, nil, "http://localhost/")
  }

  package static func == (left: AbsoluteURL, right: AbsoluteURL) -> Bool {
    left === right || left.string == right.string && left.user == right.user && left.password == right.password
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(string)
    hasher.combine(user)
    hasher.combine(password)
  }
}

extension AbsoluteURL {
  package var isSecure: Bool { scheme == "https" }

  package var effectivePort: Int { port ?? (isSecure ? 443 : 80) }

  package var origin: Origin { Origin(scheme: scheme, host: host, port: effectivePort) }

  /// The path and the query: a request target in origin form (RFC 9112 §3.2.1).
  package var pathAndQuery: String {
    guard let query else { return path }
    return "\(path)?\(query)"
  }

  /// The URL without userinfo or fragment, as servers and caches know it.
  package var requestString: String {
    guard let fragment else { return string }
    return String(string.dropLast(fragment.utf8.count + 1))
  }

  /// The URL for logs: no userinfo, no fragment, query values masked.
  package var redacted: String { URLRedaction.redact(requestString) }

  var authority: URLAuthority { URLAuthority(user: user, password: password, host: host, port: port) }

  /// The URL over https: the default port becomes that of https, other ports are kept (RFC 6797 §8.3).
  var secure: AbsoluteURL? {
    var authority = authority
    if authority.port == 443 { authority.port = nil }
    return try? AbsoluteURL(scheme: "https", authority: authority, path: path, query: query, fragment: fragment)
  }

  /// The same path, query and fragment at another server, without userinfo.
  func moved(to server: AbsoluteURL) throws(InvalidInput) -> AbsoluteURL {
    try AbsoluteURL(
      scheme: server.scheme, authority: URLAuthority(host: server.host, port: server.port), path: path, query: query,
      fragment: fragment)
  }

  /// Appends items to the query.
  package func adding(_ items: Query) throws(InvalidInput) -> AbsoluteURL {
    guard !items.isEmpty else { return self }
    return try AbsoluteURL(
      scheme: scheme, authority: authority, path: path, query: Query.joined([query, items.encoded]), fragment: fragment)
  }
}

extension AbsoluteURL: CustomStringConvertible, CustomReflectable {
  /// The redacted form, because URLs are interpolated into logs.
  package var description: String { redacted }

  package var customMirror: Mirror { Mirror(self, children: []) }
}
