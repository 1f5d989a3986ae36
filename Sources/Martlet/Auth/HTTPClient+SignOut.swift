extension HTTPClient {
  /// Forgets who the client was: tokens, passwords, what servers had accepted, its cookies, what is in its cache for this
  /// session, and what is in its credential
  /// store.
  ///
  /// The next request has no credentials. Authenticators that have one credential, such as `.basic(…)` and
  /// `.oauth2(…)`, forget it, for all clients that share them; a closure is asked again when a server asks. Requests
  /// under way go on with what they were sent with, and those that wait for a credential fail with
  /// ``HTTPError/Kind/authenticationFailed``. Header fields and options that the program has set stay as they are.
  ///
  /// - Throws: What the credential store throws, after everything else was forgotten.
  public nonisolated func signOut() async throws {
    let configuration = core.settings.configuration
    await configuration.authenticators.signOut()
    core.callSessions.forget()
    await core.settings.jar.removeAll()
    try? await core.settings.cache.removeAll(.session)
    try await configuration.credentialStore?.removeAll()
  }
}
