import MartletBase

/// Answers challenges with an OAuth 2 token, and refreshes it (RFC 6749 §6, RFC 6750).
///
/// Made by ``Authenticator/oauth2(_:refreshLimit:refresh:)``. There is one token for the whole place, however many
/// origins and realms that has.
public final class TokenAuthenticator: Authenticator {
  /// Returns a new token for the old one, which is `nil` before the first, or `nil` to give up; what it throws ends the
  /// requests that wait for it.
  public typealias Refresh = @Sendable (_ old: Credential?) async throws -> Credential?

  /// The longest wait for a new token.
  public let answerLimit: Duration

  private let first: Locked<Credential?>
  private let refresh: Refresh

  init(_ token: Credential?, answerLimit: Duration, refresh: @escaping Refresh) {
    first = Locked(token)
    self.answerLimit = answerLimit
    self.refresh = refresh
  }

  /// Bearer and nothing else.
  public var schemes: [AuthenticationChallenge.Scheme] { [.bearer] }

  /// The initial token, or `nil`.
  public func unaskedCredential(for space: ProtectionSpace) -> Credential? { first.withLock { $0 } }

  /// Refreshes the token.
  public func respond(to challenge: AuthenticationChallenge) async throws -> Credential? {
    try await refresh(challenge.rejected)
  }

  /// Removes the initial token.
  public func signOut() async { first.withLock { $0 = nil } }
}

extension TokenAuthenticator: CustomStringConvertible, CustomReflectable {
  /// The name of the type.
  public var description: String { "TokenAuthenticator" }

  /// A mirror that shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Authenticator where Self == TokenAuthenticator {
  /// A token that a closure refreshes when it is refused or expires.
  ///
  /// A 401 counts as a refusal even if it names no scheme, as many servers have it. The newest token is kept in
  /// ``HTTPClient/Configuration/credentialStore`` if there is one, and found there by the next client.
  ///
  /// - Parameters:
  ///   - token: The token to begin with; with `nil` the closure is asked when a server asks first.
  ///   - refreshLimit: The longest wait for the closure; 30 s by default.
  ///   - refresh: Gets the old token, if there is one, with its ``Credential/refreshToken``; `nil` gives up. It runs
  ///     once, however many requests wait for it, and what it sends with the same client has no token.
  /// - Returns: The authenticator.
  public static func oauth2(
    _ token: Credential? = nil, refreshLimit: Duration = .seconds(30), refresh: @escaping TokenAuthenticator.Refresh
  ) -> TokenAuthenticator {
    TokenAuthenticator(token, answerLimit: refreshLimit, refresh: refresh)
  }
}
