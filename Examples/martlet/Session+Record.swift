import Martlet

extension Session {
  /// The contents of the file.
  struct Record: Codable, Equatable, Sendable {
    /// The scheme, the host and the port, such as `https://a.test:443`; a session is used for no others.
    var origin: String
    /// The header fields, each as name and value.
    var headers: [[String]] = []
    var user: String?
    var password: String?
    /// The authentication scheme of the password.
    var scheme: String?
    var token: String?
    /// The cookies in the format of `cookies.txt`.
    var cookies = ""

    /// Whether the record contains a token, a user, or the field that carries them.
    var hasCredential: Bool { token != nil || user != nil || headers.contains { Self.isCredential($0) } }

    /// Replaces what the command line sets.
    ///
    /// A token, a user and an `Authorization` field replace each other, because a request has one credential.
    mutating func apply(_ changes: Changes) {
      let names = Set(changes.headers.compactMap { $0.first?.lowercased() })
      headers.removeAll { names.contains(($0.first ?? "").lowercased()) }
      if changes.token != nil || changes.user != nil || changes.headers.contains(where: Self.isCredential) {
        dropCredential()
        (user, password, scheme) = (changes.user?.name, changes.user?.password, changes.scheme)
        token = changes.token
      }
      headers += changes.headers
    }

    mutating func dropCredential() {
      (user, password, scheme, token) = (nil, nil, nil, nil)
      headers.removeAll(where: Self.isCredential)
    }

    private static func isCredential(_ field: [String]) -> Bool { field.first?.lowercased() == "authorization" }
  }

  /// The header fields and credentials that a command line sets.
  struct Changes: Equatable, Sendable {
    var headers: [[String]] = []
    var user: Identity.User?
    var scheme: String?
    var token: String?

    init() {}

    /// Reads a command; ignores fields and credentials from the configuration file.
    init(_ command: RequestCommand) throws(UsageError) {
      headers = command.headers.filter { field in
        Session.keeps(field.name) && !command.defaultFields.contains(field.name.lowercased())
      }.map { [$0.name, $0.value] }
      let identity = command.identity
      if identity.isDefault { return }
      if let token = identity.token {
        self.token = try Identity.text(of: token)
      } else if let user = identity.user {
        self.user = user
        scheme = identity.scheme?.rawValue
      }
    }
  }

  /// The fields that describe one request, one attempt or one connection; names that end in a hyphen are prefixes.
  private static let unkept: Set = [
    // Content and conditions.
    "content-", "if-", "accept-encoding", "digest", "expect", "range", "repr-digest", "want-content-digest",
    "want-repr-digest",
    // One request, which a server may recognize by its key, its origin or its signature.
    "baggage", "b3", "date", "dpop", "idempotency-key", "max-forwards", "origin", "referer", "request-id", "signature",
    "signature-input", "traceparent", "tracestate", "x-b3-", "x-correlation-id", "x-idempotency-key", "x-request-id",
    // One connection (RFC 9110 §7.6.1), and the proxy.
    "connection", "forwarded", "host", "http2-settings", "keep-alive", "proxy-", "sec-websocket-", "te", "trailer",
    "transfer-encoding", "upgrade", "via",
    // The jar keeps cookies.
    "cookie",
  ]

  /// Whether a session keeps the fields with a name.
  static func keeps(_ name: String) -> Bool {
    let name = name.lowercased()
    return !unkept.contains(name) && !unkept.contains { $0.hasSuffix("-") && name.hasPrefix($0) }
  }

  /// Applies a run's changes to other cookies; all texts have the format of `cookies.txt`.
  ///
  /// - Parameters:
  ///   - cookies: The cookies of the file, which other runs may have changed.
  ///   - before: The cookies of this run before its request.
  ///   - after: The cookies of this run at its end.
  /// - Returns: The merged cookies.
  static func merged(_ cookies: String, before: String, after: String) -> String {
    let (old, new) = (lines(before), lines(after))
    let earlier = Dictionary(old, uniquingKeysWith: { $1 })
    let later = Dictionary(new, uniquingKeysWith: { $1 })
    let changed = later.filter { earlier[$0.key] != $0.value }
    var result: [String] = []
    var known: Set<String> = []
    for (key, line) in lines(cookies) where later[key] != nil || earlier[key] == nil {
      known.insert(key)
      result.append(changed[key] ?? line)
    }
    result += new.filter { changed[$0.0] != nil && !known.contains($0.0) }.map(\.1)
    return "# Netscape HTTP Cookie File\n" + result.map { "\($0)\n" }.joined()
  }

  /// The lines with cookies, each with its domain, path and name, which identify a cookie (RFC 6265bis §5.7).
  private static func lines(_ cookies: String) -> [(String, String)] {
    cookies.split(separator: "\n").compactMap { line in
      let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
      guard fields.count >= 6 else { return nil }
      let domain = fields[0].replacing("#HttpOnly_", with: "").drop { $0 == "." }
      return ("\(domain)\t\(fields[2])\t\(fields[5])", String(line))
    }
  }
}
