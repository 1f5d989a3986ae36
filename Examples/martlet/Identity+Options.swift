import Martlet

extension Identity {
  /// Reads an option with a value.
  mutating func read(_ name: String, _ value: String) throws(UsageError) {
    switch name {
    case "--user": user = try User(value)
    case "--bearer":
      let isFile = value.hasPrefix("@")
      guard value.utf8.count > (isFile ? 1 : 0) else { throw UsageError("--bearer needs a token, or @FILE") }
      token = isFile ? .file(String(value.dropFirst())) : .text(value)
    case "--credentials": credentials = try Self.path(value, of: name)
    case "--cookie-jar": jar = try Self.path(value, of: name)
    case "--cookies-txt": cookieFiles.append(try Self.path(value, of: name))
    case "--save-cookies":
      if value == "-" { throw UsageError("--save-cookies (-c) writes to a file, not to standard output") }
      savedCookies = try Self.path(value, of: name)
    // As in curl, a value without `=` names a file. An empty name would only enable cookies, which are enabled anyway.
    case _ where !value.contains("="): if !value.isEmpty { cookieFiles.append(value) }
    default:
      for cookie in value.split(separator: ";").map({ $0.drop { $0 == " " } }) where !cookie.isEmpty {
        guard cookie.contains("="), !cookie.hasPrefix("=") else {
          throw UsageError("--cookie needs NAME=VALUE, or several of them with ';' in between")
        }
        cookies.append(String(cookie))
      }
    }
  }

  /// Reads an option without a value.
  mutating func read(flag: String) throws(UsageError) {
    switch flag {
    case "--no-cookies": hasNoCookies = true
    default:
      scheme = flag == "--basic" ? .basic : .digest
    }
  }

  /// Rejects combinations of options that exclude each other.
  func check() throws(UsageError) {
    if let scheme, user == nil { throw UsageError("--\(scheme.rawValue) needs --user") }
  }

  private static func path(_ value: String, of name: String) throws(UsageError) -> String {
    guard !value.isEmpty else { throw UsageError("the option '\(name)' needs the name of a file") }
    return value
  }
}

extension Identity.User {
  /// Reads `NAME` or `NAME:PASSWORD`; the password follows the first colon.
  init(_ text: String) throws(UsageError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    name = String(parts.first ?? "")
    password = parts.count > 1 ? String(parts[1]) : nil
    if name.isEmpty { throw UsageError("--user needs NAME or NAME:PASSWORD") }
  }
}
