extension HTTPClient.Configuration {
  /// The storage for accepted credentials; `nil` by default.
  ///
  /// With `nil`, accepted credentials live in memory as long as the client. The store is consulted before an
  /// authenticator that obtains credentials at run time (`.ask(…)`, `.oauth2(…)` or your own), and alone if no
  /// authenticator is set.
  public var credentialStore: (any CredentialStore)? {
    get { authenticators.store }
    set { authenticators.store = newValue }
  }

  var authenticationProblem: InvalidInput? {
    if let problem = authenticators.problem { return problem }
    guard options.credential != nil, baseURL == nil else { return nil }
    return InvalidInput("the client's credential has no origin: set baseURL, or use authenticators with an origin")
  }
}
