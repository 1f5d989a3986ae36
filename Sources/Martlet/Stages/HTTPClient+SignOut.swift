extension HTTPClient {
  /// Discards the user's credentials, cookies and cached responses.
  ///
  /// This removes tokens and passwords, the record of credentials that servers accepted, the client's cookies, the
  /// responses that its cache holds for this session, and the contents of its credential store.
  ///
  /// The next request has no credentials. Authenticators with a fixed credential or a token, such as `.basic(…)` and
  /// `.oauth2(…)`, discard it for all clients that share them; a closure is called again at the next challenge.
  /// Requests in progress continue with the credentials they were sent with, and requests that wait for a credential
  /// fail with ``HTTPError/Kind/authenticationFailed``. Header fields and options set in code are unchanged.
  ///
  /// - Throws: The error of the credential store, after everything else has been removed.
  public nonisolated func signOut() async throws {
    let configuration = core.settings.configuration
    await configuration.authenticators.signOut()
    core.callSessions.forget()
    await core.settings.jar.removeAll()
    try? await core.settings.cache.removeAll(.session)
    try await configuration.credentialStore?.removeAll()
  }
}
