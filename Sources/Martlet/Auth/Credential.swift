public import Foundation

/// What somebody proves with who they are: a user and a password, or a token.
///
/// `description` and `dump` show neither of them.
public struct Credential: Sendable, Hashable {
  /// In a box, because options are copied for every request and hardly ever have one.
  private indirect enum Secret: Sendable, Hashable {
    case password(user: String, String)
    case token(String, refresh: String?, expires: Date?)
  }

  private let secret: Secret

  /// Whether it is sent before the server asks for it.
  ///
  /// `false` by default for a password, which goes out only when a server has asked, and from then on at once; `true`
  /// for a token, for which hardly any server asks first.
  public var isSentUnasked: Bool

  /// A user and a password, for Basic and Digest.
  ///
  /// - Parameters:
  ///   - user: The name; for Basic one without a colon (RFC 7617 §2).
  ///   - password: The password.
  ///   - isSentUnasked: Whether Basic is sent before the server asks.
  /// - Returns: The credential.
  public static func user(_ user: String, password: String, isSentUnasked: Bool = false) -> Credential {
    Credential(secret: .password(user: user, password), isSentUnasked: isSentUnasked)
  }

  /// A token (RFC 6750).
  ///
  /// - Parameters:
  ///   - token: The token: visible ASCII without blanks.
  ///   - refreshToken: What a new one is asked for with (RFC 6749 §1.5).
  ///   - expires: When it ends. From ten seconds before that on, a new one is asked for before a request is sent.
  ///   - isSentUnasked: Whether it is sent before the server asks.
  /// - Returns: The credential.
  public static func token(
    _ token: String, refreshToken: String? = nil, expires: Date? = nil, isSentUnasked: Bool = true
  ) -> Credential {
    Credential(secret: .token(token, refresh: refreshToken, expires: expires), isSentUnasked: isSentUnasked)
  }

  /// The name, if it has a password.
  public var user: String? { if case .password(let user, _) = secret { user } else { nil } }

  /// The password, if it is one.
  public var password: String? { if case .password(_, let password) = secret { password } else { nil } }

  /// The token, if it is one.
  public var token: String? { if case .token(let token, _, _) = secret { token } else { nil } }

  /// What a new token is asked for with.
  public var refreshToken: String? { if case .token(_, let refresh, _) = secret { refresh } else { nil } }

  /// When the token ends.
  public var expires: Date? { if case .token(_, _, let expires) = secret { expires } else { nil } }

  /// The schemes that it can answer.
  var schemes: [AuthenticationScheme] { token == nil ? [.basic, .digest] : [.bearer] }

  /// Whether it is a token that has ended, or is about to: a request takes its time.
  func isExpired(at now: Date) -> Bool { expires.map { $0.timeIntervalSince(now) <= 10 } ?? false }
}

extension Credential: CustomStringConvertible, CustomReflectable {
  /// What kind of credential it is, and nothing of it.
  public var description: String { token == nil ? "a password" : "a token" }

  /// A mirror that shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
