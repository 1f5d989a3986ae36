extension HTTPClient.Configuration {
  /// Where the credentials that were accepted are kept; `nil`, the default, keeps them as long as the client's own
  /// memory.
  ///
  /// It is asked before an authenticator that asks somebody, and by itself where no authenticator is set.
  public var credentialStore: (any CredentialStore)? {
    get { authenticators.store }
    set { authenticators.store = newValue }
  }

  var authenticationProblem: InvalidInput? {
    if let problem = authenticators.problem { return problem }
    guard options.credential != nil, baseURL == nil else { return nil }
    return InvalidInput("the credential of a client needs a baseURL, or an origin in authenticators")
  }
}
