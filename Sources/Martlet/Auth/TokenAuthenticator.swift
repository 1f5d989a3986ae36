import MartletBase

extension Authenticators {
  /// Answers challenges with an OAuth 2.0 token, and refreshes it (RFC 6749 §6, RFC 6750).
  ///
  /// Created by ``Authenticator/oauth2(_:refreshLimit:refresh:)``. All origins and realms of the origin pattern share
  /// one token.
  public final class TokenAuthenticator: Authenticator {
    /// Returns a new token for the old one, or `nil` to give up.
    ///
    /// The old token is `nil` if there was none yet. An error that it throws fails the waiting requests.
    public typealias Refresh = @Sendable (_ old: Credential?) async throws -> Credential?

    /// The longest wait for a new token.
    public let timeout: Duration

    /// Whether the newest token is stored in `Configuration.credentialStore`.
    let usesCredentialStore: Bool

    private let first: Locked<Credential?>
    private let refresh: Refresh

    package init(
      _ token: Credential?, timeout: Duration, usesCredentialStore: Bool = true, refresh: @escaping Refresh
    ) {
      first = Locked(token)
      self.timeout = timeout
      self.usesCredentialStore = usesCredentialStore
      self.refresh = refresh
    }

    /// Bearer only.
    public var schemes: [AuthenticationScheme] { [.bearer] }

    /// The initial token, or `nil`.
    public func preemptiveCredential(for space: ProtectionSpace) -> Credential? { first.withLock { $0 } }

    /// Refreshes the token.
    public func respond(to challenge: AuthenticationChallenge) async throws -> Credential? {
      try await refresh(challenge.rejected)
    }

    /// Removes the initial token.
    public func signOut() async { first.withLock { $0 = nil } }
  }
}

extension Authenticators.TokenAuthenticator: CustomStringConvertible, CustomReflectable {
  /// The name of the type.
  public var description: String { "TokenAuthenticator" }

  /// A mirror that shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Authenticator where Self == Authenticators.TokenAuthenticator {
  /// A token that a closure refreshes when it expires or is rejected.
  ///
  /// A 401 to a request with the token counts as a rejection, even if it names other schemes or none, as is common. The
  /// newest token is stored in ``HTTPClient/Configuration/credentialStore`` if one is set, where the next client finds
  /// it.
  ///
  /// - Parameters:
  ///   - token: The initial token. With `nil`, the closure is called at the first challenge.
  ///   - refreshLimit: The longest wait for the closure; 30 s by default.
  ///   - refresh: Receives the old token, if there is one, with its ``Credential/refreshToken``, and returns the new
  ///     one, or `nil` to give up. It runs once for all waiting requests. Requests that it sends with the same client
  ///     carry no token.
  /// - Returns: The authenticator.
  public static func oauth2(
    _ token: Credential? = nil, refreshLimit: Duration = .seconds(30),
    refresh: @escaping Authenticators.TokenAuthenticator.Refresh
  ) -> Authenticators.TokenAuthenticator {
    Self(token, timeout: refreshLimit, refresh: refresh)
  }
}
