public import Martlet

extension OAuthClient {
  /// Where an authenticator's tokens come from.
  public struct Grant: Sendable {
    enum Source: Sendable {
      case client(scope: String?, parameters: Query)
      case user
    }

    let source: Source
    var token: OAuthToken?
    var store: (any OAuthTokenStore)?

    /// Tokens of the client itself, requested before the first request and when they expire.
    ///
    /// - Parameters:
    ///   - scope: The scopes, separated by spaces; `nil` for the server's default.
    ///   - parameters: Further parameters of the request.
    /// - Returns: The grant.
    public static func clientCredentials(scope: String? = nil, parameters: Query = [:]) -> Grant {
      Grant(source: .client(scope: scope, parameters: parameters))
    }

    /// A user's token, refreshed in memory.
    ///
    /// If the server replaces refresh tokens, the user must sign in again after the process ends: use ``stored(in:)``.
    ///
    /// - Parameter token: The token.
    /// - Returns: The grant.
    public static func token(_ token: OAuthToken) -> Grant { Grant(source: .user, token: token) }

    /// A user's token in a store, which receives each new token before it is used.
    ///
    /// - Parameter store: The store.
    /// - Returns: The grant.
    public static func stored(in store: some OAuthTokenStore) -> Grant { Grant(source: .user, store: store) }
  }
}

extension Authenticator where Self == Authenticators.TokenAuthenticator {
  /// Tokens of an authorization server, refreshed when they expire or are rejected.
  ///
  /// ```swift
  /// $0.authenticators[.baseURL] = .oauth(oauth, .stored(in: keychain))
  /// ```
  ///
  /// One refresh serves all waiting requests, even of several origins and clients that share the authenticator. Do not
  /// create two authenticators for the same token: they would refresh independently, and a server that replaces refresh
  /// tokens may then revoke both. `Configuration.credentialStore` is not used. If the user must sign in again, the
  /// requests fail with `HTTPError` of kind `authenticationFailed`, and its `oauthError` is the server's.
  ///
  /// - Parameters:
  ///   - client: The client of the authorization server.
  ///   - grant: Where the tokens come from.
  ///   - refreshLimit: The longest wait for a token; 30 s by default. The refresh then continues for later requests,
  ///     until the timeouts of `client` end it.
  /// - Returns: The authenticator.
  public static func oauth(
    _ client: OAuthClient, _ grant: OAuthClient.Grant, refreshLimit: Duration = .seconds(30)
  ) -> Authenticators.TokenAuthenticator {
    let session = TokenSession(client, grant)
    return Self(TokenSession.placeholder, timeout: refreshLimit, usesCredentialStore: false) {
      try await session.renew($0)
    }
  }
}
