import Foundation
import Martlet

/// The credentials and cookies from the command line.
struct Identity: Equatable, Sendable {
  /// The value of `--user`: a name, and a password unless the tool asks for it.
  struct User: Equatable, Sendable {
    var name: String
    var password: String?
  }

  /// The value of `--bearer`: the token, or the file that contains it.
  enum Token: Equatable, Sendable {
    case text(String)
    case file(String)
  }

  var user: User?
  /// The only scheme for which the password is sent; `nil` allows the scheme that the server requests.
  var scheme: AuthenticationScheme?
  var token: Token?
  /// Whether the user or the token comes from the configuration file, not from the command line.
  var isDefault = false
  /// The file that stores entered passwords.
  var credentials: String?
  /// The cookies from the command line, each as `name=value`.
  var cookies: [String] = []
  /// The file that stores the cookies.
  var jar: String?
  /// The `cookies.txt` files from which cookies are loaded.
  var cookieFiles: [String] = []
  /// The `cookies.txt` file to which all cookies are written at the end.
  var savedCookies: String?
  var hasNoCookies = false

  /// Applies the settings to a client's configuration.
  ///
  /// - Throws: ``UsageError`` if the file of a token cannot be read, or a cookie cannot be sent.
  func apply(to configuration: inout HTTPClient.Configuration, url: String) async throws(UsageError) {
    if hasNoCookies { configuration.cookies = .off }
    // As in curl, all runs with the same file belong to one session.
    if let jar { configuration.cookies = .file(URL(fileURLWithPath: jar), keepsSessionCookies: true) }
    if let own = try await ownCookies(for: url) { configuration.exchangeMiddleware.append(own) }
    if let credentials { configuration.credentialStore = .file(URL(fileURLWithPath: credentials)) }
    configuration.authenticators[.origin(url)] = try authenticator
  }

  private var authenticator: (any Authenticator)? {
    get throws(UsageError) {
      if let token { return .bearer(try Self.text(of: token)) }
      guard let user else { return nil }
      guard let password = user.password else {
        return .ask { try await Question(user.name, $0, only: scheme)?.answer() }
      }
      return switch scheme {
      case .digest?: .digest(user: user.name, password: password)
      case .basic?: .basic(user: user.name, password: password, isPreemptive: true)
      default: .password(user: user.name, password: password)
      }
    }
  }

  private func ownCookies(for url: String) async throws(UsageError) -> OwnCookies? {
    guard !cookies.isEmpty else { return nil }
    let jar = CookieJar()
    for cookie in cookies {
      guard await jar.set(line: "\(cookie); Path=/", from: RequestTarget(url)) else {
        throw UsageError("--cookie '\(cookie.prefix { $0 != "=" })' is not a valid cookie for this URL")
      }
    }
    return OwnCookies(jar: jar)
  }

  /// Loads the cookies of files into a client's jar.
  ///
  /// - Throws: ``UsageError`` if the jar has a problem, if a file cannot be read, or if the file of `--save-cookies`
  ///   cannot be written.
  func fill(_ jar: CookieJar) async throws(UsageError) {
    if let problem = await jar.problem { throw UsageError(problem.message) }
    if let savedCookies { try OutputFile(savedCookies, mode: 0o600).discard() }
    for file in cookieFiles {
      // In scripts for curl, the file of `-c` is also read, although it does not exist in the first run.
      if savedCookies != nil, !FileManager.default.fileExists(atPath: file) { continue }
      let data = try InputFile.contents(of: file, for: "--cookies-txt (-b)", hint: "; a cookie is NAME=VALUE")
      let text = String(decoding: data, as: UTF8.self)
      let isTable = text.split(whereSeparator: \.isNewline).allSatisfy {
        $0.hasPrefix("#") || $0.contains("\t") || $0.allSatisfy(\.isWhitespace)
      }
      guard isTable else { throw UsageError("'\(file)' is not a cookies.txt file; for a jar, use --cookie-jar") }
      await jar.add(netscape: text)
    }
  }

  /// Writes the file of `--save-cookies`, and reports cookies that cannot be saved without failing the request.
  func save(_ jar: CookieJar, _ errors: Terminal) async {
    if let problem = await jar.problem { errors.complain("the cookies are not saved: \(problem.message)") }
    guard let savedCookies else { return }
    let text = await jar.netscape
    do {
      let file = try OutputFile(savedCookies, mode: 0o600)
      defer { file.discard() }
      try file.write(Data(text.utf8))
      try file.finish()
    } catch {
      let reason = (error as? WriteError)?.reason ?? "\(error)"
      errors.complain("the cookies are not saved: \(reason)")
    }
  }

  static func text(of token: Token) throws(UsageError) -> String {
    switch token {
    case .text(let text): return text
    case .file(let path):
      let text = String(decoding: try InputFile.contents(of: path, for: "--bearer"), as: UTF8.self)
        .trimmingCharacters(in: .whitespacesAndNewlines)
      if text.isEmpty { throw UsageError("the file '\(path)' of --bearer contains no token") }
      return text
    }
  }

  /// Removes the user or token from the configuration file.
  mutating func dropDefault() {
    if isDefault { (user, token, scheme, isDefault) = (nil, nil, nil, false) }
  }
}
