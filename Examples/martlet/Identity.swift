import Foundation
import Martlet

/// Who the request is from, as the command line describes it: credentials and cookies.
struct Identity: Equatable, Sendable {
  /// `--user`: a name, and a password unless it is to be asked for.
  struct User: Equatable, Sendable {
    var name: String
    var password: String?
  }

  /// `--bearer`: the token, or the file that it is in.
  enum Token: Equatable, Sendable {
    case text(String)
    case file(String)
  }

  var user: User?
  /// The only scheme that the password is sent with; `nil` for what the server asks for.
  var scheme: AuthenticationChallenge.Scheme?
  var token: Token?
  /// The file that passwords which were asked for are kept in.
  var credentials: String?
  /// Each as `name=value`.
  var cookies: [String] = []
  /// The file that cookies are kept in.
  var jar: String?
  /// A `cookies.txt` to begin with.
  var cookiesText: String?
  var hasNoCookies = false

  /// Tells a client.
  ///
  /// - Throws: ``UsageError`` if the file of a token cannot be read, or a cookie cannot be sent.
  func apply(to configuration: inout HTTPClient.Configuration, url: String) async throws(UsageError) {
    if hasNoCookies { configuration.cookies = .off }
    // Every run of the tool belongs to the session that the file stands for, as with curl.
    if let jar { configuration.cookies = .file(URL(fileURLWithPath: jar), keepsSessionCookies: true) }
    if let own = try await ownCookies(for: url) { configuration.attemptMiddleware.append(own) }
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
      case .basic?: .basic(user: user.name, password: password, isSentUnasked: true)
      default: .password(user: user.name, password: password)
      }
    }
  }

  private func ownCookies(for url: String) async throws(UsageError) -> OwnCookies? {
    guard !cookies.isEmpty else { return nil }
    let jar = CookieJar()
    for cookie in cookies {
      guard await jar.set(line: "\(cookie); Path=/", from: RequestTarget(url)) else {
        throw UsageError("--cookie '\(cookie.prefix { $0 != "=" })' is not a cookie that this URL could have")
      }
    }
    return OwnCookies(jar: jar)
  }

  /// Puts the cookies of a `cookies.txt` into the jar of a client.
  ///
  /// - Throws: ``UsageError`` if the jar has a problem, or the file cannot be read.
  func fill(_ jar: CookieJar) async throws(UsageError) {
    if let problem = await jar.problem { throw UsageError(problem.message) }
    guard let cookiesText else { return }
    let data = try Self.contents(of: cookiesText, for: "--cookies-txt")
    await jar.add(netscape: String(decoding: data, as: UTF8.self))
  }

  private static func text(of token: Token) throws(UsageError) -> String {
    switch token {
    case .text(let text): return text
    case .file(let path):
      let text = String(decoding: try contents(of: path, for: "--bearer"), as: UTF8.self)
      return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
  }

  static func contents(of path: String, for option: String) throws(UsageError) -> Data {
    do {
      return try Data(contentsOf: URL(fileURLWithPath: path))
    } catch {
      throw UsageError("\(option) cannot read the file '\(path)'")
    }
  }
}
