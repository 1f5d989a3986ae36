import Martlet
import MartletBase

/// The newest token of an authenticator, and what is to be done with it.
///
/// ```
///             rejected or expired                    response
/// token ─────────────────────────▶ refresh, obtain ──────────▶ unsaved token ─▶ save ─▶ token
///                                        │ lost
///                                        ▼
///                        the refresh token may be replaced
/// ```
struct TokenLedger {
  enum Step: Equatable {
    /// Use the token.
    case use(OAuthToken)
    /// Save the token, and then use it.
    case save(OAuthToken)
    /// Refresh the token.
    case refresh(OAuthToken)
    /// Obtain a token without a refresh token.
    case obtain
  }

  private(set) var token: OAuthToken?
  /// Whether ``token`` is not in the store yet.
  private(set) var isUnsaved = false
  /// The token that the store contained when it was read last.
  private var stored: OAuthToken?
  /// The refresh token of a request whose response was lost.
  private var lost: String?
  /// The refresh token that the server has refused, and its error.
  private var refused: (refreshToken: String, error: HTTPError)?

  init(_ token: OAuthToken? = nil) { self.token = token }

  /// Decides what to do about a token that the server has rejected, or that has expired.
  ///
  /// - Parameters:
  ///   - rejected: The access token that a request had, or `nil` if there was none.
  ///   - now: The date.
  /// - Returns: The next step.
  func step(after rejected: String?, at now: Date) -> Step {
    guard let token else { return .obtain }
    // Even an expired token contains the only valid refresh token.
    if isUnsaved { return .save(token) }
    if token.accessToken != rejected, !token.isExpired(at: now) { return .use(token) }
    return token.refreshToken == nil ? .obtain : .refresh(token)
  }

  /// Takes a token that another process, or another store, has saved.
  ///
  /// Returns whether it is another one. A token that is not saved yet is newer than the stored token that it replaces,
  /// but not newer than another stored token.
  @discardableResult mutating func adopt(_ new: OAuthToken?) -> Bool {
    guard let new, !isUnsaved || new != stored else { return false }
    stored = new
    isUnsaved = false
    guard new != token else { return false }
    token = new
    return true
  }

  /// The error of the server that has already refused a token's refresh token; `nil` to refresh the token.
  func refusal(of token: OAuthToken) -> HTTPError? {
    refused.flatMap { $0.refreshToken == token.refreshToken ? $0.error : nil }
  }

  /// Takes the token of a response.
  mutating func received(_ token: OAuthToken, needsSaving: Bool) {
    self.token = token
    isUnsaved = needsSaving
    lost = nil
    refused = nil
  }

  /// Records that a token is in the store.
  mutating func saved(_ token: OAuthToken) { if self.token == token { isUnsaved = false } }

  /// Records that a refresh has failed, and returns the error with what is known about it.
  mutating func failed(_ refreshToken: String?, _ error: any Error) -> any Error {
    guard let refreshToken else { return error }
    guard let failure = error as? HTTPError, var refusal = failure.oauthError else {
      // A server that has not processed the request has not replaced the refresh token.
      if !Self.isUnsent(error) { lost = refreshToken }
      return error
    }
    if failure.status.map({ $0.rawValue >= 500 }) == true { lost = refreshToken }
    guard refusal.code == .invalidGrant else { return error }
    refusal.followsLostResponse = lost == refreshToken
    let known = refusal.followsLostResponse ? refusal.failure(from: "token endpoint", failure.response) : failure
    refused = (refreshToken, known)
    return known
  }

  /// Whether the server has certainly not processed the request.
  private static func isUnsent(_ error: any Error) -> Bool {
    guard let error = error as? HTTPError else { return false }
    return error.wasNotProcessed || error.kind == .unsupported || error.phase == .queued
  }
}
