public import Martlet
public import MartletBase

/// A token response (RFC 6749 §5.1).
///
/// `description` and `dump` do not reveal the tokens; encoding it does, so store it where secrets belong.
public struct OAuthToken: Sendable, Hashable, Codable {
  /// How an access token is sent.
  @nonexhaustive public enum Kind: String, Sendable, Hashable, Codable {
    /// As it is (RFC 6750).
    case bearer = "Bearer"
    /// With a proof that the sender owns a key (RFC 9449).
    case dpop = "DPoP"
  }

  /// The access token.
  public var accessToken: String
  /// How the access token is sent.
  public var kind: Kind
  /// The refresh token, or `nil`.
  public var refreshToken: String?
  /// The expiration date, or `nil` if the server has not sent one.
  public var expires: Date?
  /// The granted scopes, separated by spaces; `nil` if they are the requested ones.
  public var scope: String?
  /// The ID token of OpenID Connect as received, or `nil`; its signature is not verified.
  public var idToken: String?

  /// Creates a token, such as one from a store of an earlier version.
  ///
  /// - Parameters:
  ///   - accessToken: The access token.
  ///   - kind: How it is sent; `bearer` by default.
  ///   - refreshToken: The refresh token.
  ///   - expires: The expiration date.
  ///   - scope: The granted scopes.
  public init(
    accessToken: String, kind: Kind = .bearer, refreshToken: String? = nil, expires: Date? = nil, scope: String? = nil
  ) {
    self.accessToken = accessToken
    self.kind = kind
    self.refreshToken = refreshToken
    self.expires = expires
    self.scope = scope
  }

  /// The token as a credential of a request or an authenticator.
  public var credential: Credential { .token(accessToken, refreshToken: refreshToken, expires: expires) }

  /// Whether it has expired or expires within 10 s, as an authenticator judges it.
  func isExpired(at now: Date) -> Bool { expires.map { $0.timeIntervalSince(now) <= 10 } ?? false }
}

extension OAuthToken: CustomStringConvertible, CustomReflectable {
  /// The kind and the expiration date, without the tokens.
  public var description: String {
    "OAuthToken(\(kind.rawValue)\(expires.map { ", expires \($0)" } ?? "")\(refreshToken == nil ? "" : ", refreshable"))"
  }

  /// A mirror that shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
