/// Storage for a token that outlives the process, such as a keychain or a database.
///
/// A new token is saved before it is used, because the old refresh token may be invalid already. The store is read before
/// a refresh, and after the server has refused a refresh token. Nothing prevents two processes from refreshing at the same
/// time, so share a store only if the server does not revoke tokens when a refresh token is used again. Neither method is
/// cancelled, so limit the time that they take: until they return, no other refresh begins.
public protocol OAuthTokenStore: Sendable {
  /// The stored token, or `nil`.
  ///
  /// - Returns: The token.
  /// - Throws: Any error; the waiting requests then fail.
  func token() async throws -> OAuthToken?

  /// Saves a token in place of the stored one.
  ///
  /// - Parameter token: The token.
  /// - Throws: Any error; the waiting requests then fail, and the next ones save the same token again, unless the
  ///   store then contains another one.
  func save(_ token: OAuthToken) async throws
}
