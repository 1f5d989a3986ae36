public import Martlet
import MartletBase

/// An error response of an authorization server (RFC 6749 §4.1.2.1 and §5.2).
///
/// It is the underlying error of an `HTTPError` of kind `authenticationFailed`: see `HTTPError.oauthError`.
public struct OAuthError: Error, Sendable, Hashable {
  /// A registered error code.
  ///
  /// A struct with static members, because servers send others.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The code as the server sent it, at most 100 characters.
    public let rawValue: String

    /// Creates a code from its text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The request is malformed.
    public static let invalidRequest = Code(rawValue: "invalid_request")
    /// The client is unknown, or its authentication failed.
    public static let invalidClient = Code(rawValue: "invalid_client")
    /// The code, refresh token or device code is invalid, expired, revoked or already used.
    public static let invalidGrant = Code(rawValue: "invalid_grant")
    /// The client may not use this grant.
    public static let unauthorizedClient = Code(rawValue: "unauthorized_client")
    /// The server does not support the grant.
    public static let unsupportedGrantType = Code(rawValue: "unsupported_grant_type")
    /// A scope is unknown, or is more than was granted.
    public static let invalidScope = Code(rawValue: "invalid_scope")
    /// The user or the server has refused.
    public static let accessDenied = Code(rawValue: "access_denied")
    /// The server failed.
    public static let serverError = Code(rawValue: "server_error")
    /// The server is overloaded or in maintenance.
    public static let temporarilyUnavailable = Code(rawValue: "temporarily_unavailable")
    /// The user has not decided yet (RFC 8628 §3.5).
    public static let authorizationPending = Code(rawValue: "authorization_pending")
    /// The client asks too often (RFC 8628 §3.5).
    public static let slowDown = Code(rawValue: "slow_down")
    /// The device code has expired (RFC 8628 §3.5).
    public static let expiredToken = Code(rawValue: "expired_token")
    /// The proof of possession is invalid (RFC 9449 §5).
    public static let invalidDPoPProof = Code(rawValue: "invalid_dpop_proof")
    /// The proof of possession needs the server's nonce (RFC 9449 §8).
    public static let useDPoPNonce = Code(rawValue: "use_dpop_nonce")
  }

  /// The error code.
  public let code: Code
  /// The server's explanation, escaped for one line and without the secrets of the request; at most 300 characters.
  public let message: String?
  /// The address of a page about the error, escaped for one line, or `nil`.
  public let uri: String?
  /// Whether the refresh token was probably replaced by a response that was lost.
  ///
  /// True for ``Code/invalidGrant`` if an earlier refresh with the same refresh token had no readable response. The
  /// user must sign in again, but the token was not stolen.
  public internal(set) var followsLostResponse = false

  /// Parses the members of an error; `nil` without a code.
  init?(_ code: String?, description: String?, uri: String?, hiding secrets: [String]) {
    guard let code, !code.isEmpty else { return nil }
    let shown: (String, Int) -> String = { Printable.text(Self.hiding(secrets, in: $0), limit: $1) }
    self.code = Code(rawValue: shown(code, 100))
    message = description.map { shown($0, 300) }
    self.uri = uri.map { shown($0, 300) }
  }

  /// The length from which a secret is recognized; a shorter one would occur in ordinary words.
  static let shortestSecret = 8

  /// Replaces the secrets that a server quotes.
  static func hiding(_ secrets: [String], in text: String) -> String {
    // Octets, because a combining mark after a secret changes its last character.
    var text = Array(text.utf8)
    // The longest first: one may contain another.
    for secret in secrets.sorted(by: { $0.utf8.count > $1.utf8.count }) where secret.utf8.count >= shortestSecret {
      let parts = text.split(separator: Array(secret.utf8), omittingEmptySubsequences: false)
      text = Array(parts.joined(separator: "***".utf8))
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// The error as users of `Martlet` catch it.
  func failure(from place: String, _ response: HTTPResponse? = nil) -> HTTPError {
    var text = "the \(place) refused: \(description)"
    if followsLostResponse {
      text += "; the response to an earlier refresh was lost, so the server has probably replaced the refresh token"
    }
    var error = HTTPError(.authenticationFailed, text, underlying: self)
    error.response = response
    return error
  }
}

extension OAuthError: CustomStringConvertible {
  /// The code and the server's explanation.
  public var description: String { message.map { "\(code.rawValue) (\($0))" } ?? code.rawValue }
}

extension HTTPError {
  /// The authorization server's error that caused this error, directly or in an authenticator, or `nil`.
  public var oauthError: OAuthError? {
    var error: any Error = self
    // An authenticator wraps once; the limit ends a chain that a program has made.
    for _ in 0..<8 {
      if let found = error as? OAuthError { return found }
      guard let next = (error as? HTTPError)?.underlying else { return nil }
      error = next
    }
    return nil
  }
}
