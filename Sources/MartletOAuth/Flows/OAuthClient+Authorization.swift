public import Martlet
public import MartletBase

extension OAuthClient {
  /// An authorization request, which a browser opens and whose callback the program receives.
  ///
  /// It contains the secret of PKCE, so encode it only into a store for secrets, such as a server's session.
  public struct Authorization: Sendable, Hashable, Codable {
    /// The URL for the browser.
    public let url: URL
    /// The redirect URI, to which the browser returns.
    public let redirectURI: String
    /// The value by which the callback is recognized.
    let state: String
    /// The secret whose digest is in the URL (RFC 7636).
    let verifier: String
  }

  /// Begins the authorization of a user by a browser, with PKCE (RFC 6749 §4.1, RFC 7636).
  ///
  /// ```swift
  /// let authorization = try oauth.authorization(redirectURI: "http://127.0.0.1:8400/signed-in", scope: "read")
  /// openBrowser(authorization.url)
  /// let token = try await oauth.token(for: authorization, callback: nextCallback())
  /// ```
  ///
  /// Nothing is sent.
  ///
  /// - Parameters:
  ///   - redirectURI: The URI to which the browser returns, as registered at the server: a loopback URL, an https URL, or
  ///     a URI with the app's own scheme.
  ///   - scope: The scopes, separated by spaces; `nil` for the server's default.
  ///   - parameters: Further parameters of the URL, such as `prompt` or `login_hint`.
  /// - Returns: The authorization, for one callback.
  /// - Throws: `HTTPError` of kind `invalidRequest`.
  public func authorization(
    redirectURI: String, scope: String? = nil, parameters: Query = [:]
  ) throws -> Authorization {
    try authorization(
      redirectURI: redirectURI, scope: scope, parameters, state: Base64URL.random(), verifier: Base64URL.random())
  }

  func authorization(
    redirectURI: String, scope: String?, _ others: Query, state: String, verifier: String
  ) throws -> Authorization {
    let endpoint = try endpoint(server.authorizationEndpoint, "authorizationEndpoint")
    try AuthorizationCallback.check(redirectURI)
    let parameters: [(String, String?)] = [
      ("response_type", "code"), ("client_id", clientID), ("redirect_uri", redirectURI), ("scope", scope),
      ("state", state), ("code_challenge", PKCE.challenge(verifier)), ("code_challenge_method", "S256"),
      // The server can refuse another key's proof (RFC 9449 §10).
      ("dpop_jkt", dpop?.key.thumbprint),
    ]
    var items = parameters.compactMap { name, value in value.map { Query.Item(name: name, value: $0) } }
    try Self.add(others, to: &items)
    do throws(InvalidInput) {
      let url = try endpoint.adding(Query(items: items)).url
      return Authorization(url: url, redirectURI: redirectURI, state: state, verifier: verifier)
    } catch {
      throw HTTPError(.invalidRequest, "authorizationEndpoint: \(error.message)")
    }
  }

  /// Exchanges the code of a callback for a token.
  ///
  /// - Parameters:
  ///   - authorization: The authorization that the browser opened.
  ///   - callback: The URL that the browser requested, with its query: a whole URL, or a path as in the request of a
  ///     loopback server.
  /// - Returns: The token.
  /// - Throws: `HTTPError`: `authenticationFailed` if the callback belongs to another authorization or server, or with an
  ///   ``OAuthError`` if the user or the server refuses; and the errors of ``clientCredentials(scope:parameters:)``.
  public func token(for authorization: Authorization, callback: String) async throws -> OAuthToken {
    let code = try AuthorizationCallback.code(callback, authorization, server)
    return try await token(
      [
        ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", authorization.redirectURI),
        ("code_verifier", authorization.verifier),
      ], [:])
  }
}

extension OAuthClient.Authorization: CustomStringConvertible, CustomReflectable {
  /// The redirect URI, without secrets.
  public var description: String { "Authorization(\(Printable.text(redirectURI)))" }

  /// A mirror that shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Proof Key for Code Exchange (RFC 7636).
enum PKCE {
  /// The S256 challenge of a verifier (§4.2).
  static func challenge(_ verifier: String) -> String { Base64URL.encode(SHA2.sha256(Array(verifier.utf8))) }
}

/// The redirect that ends an authorization in the browser.
enum AuthorizationCallback {
  /// Checks a redirect URI (RFC 6749 §3.1.2, RFC 8252 §7).
  static func check(_ uri: String) throws(HTTPError) {
    let scheme = uri.prefix { $0 != ":" }.lowercased()
    let isURI =
      scheme.utf8.count < uri.utf8.count && scheme.utf8.first.map { 0x61...0x7A ~= $0 } == true
      && uri.utf8.allSatisfy { 0x21...0x7E ~= $0 }
    guard isURI, !uri.contains("#") else {
      throw HTTPError(
        .invalidRequest, "redirectURI '\(Printable.text(uri))' must be an absolute URI without a fragment")
    }
    guard scheme == "http" else { return }
    guard let url = try? AbsoluteURL.parse(uri), OAuthClient.isLoopback(url.host) else {
      throw HTTPError(.invalidRequest, "redirectURI uses http, which is only for loopback addresses: use https")
    }
  }

  /// The code of a callback, after all checks.
  static func code(
    _ callback: String, _ authorization: OAuthClient.Authorization, _ server: OAuthClient.Server
  ) throws(HTTPError) -> String {
    try checkPlace(callback, authorization.redirectURI)
    var values: [String: String] = [:]
    for item in Query(parsing: String(URLText.query(callback))).items {
      guard ["code", "state", "iss", "error", "error_description", "error_uri"].contains(item.name) else { continue }
      // RFC 6749 §3.1.
      guard values.updateValue(item.value ?? "", forKey: item.name) == nil else {
        throw refusal("contains '\(item.name)' twice")
      }
    }
    guard values["state"] == authorization.state else {
      throw refusal(values["state"] == nil ? "has no state" : "has the state of another authorization")
    }
    try checkIssuer(values["iss"], server)
    if let error = OAuthError(
      values["error"], description: values["error_description"], uri: values["error_uri"],
      hiding: [authorization.state, authorization.verifier])
    {
      throw error.failure(from: "authorization endpoint")
    }
    guard let code = values["code"], !code.isEmpty else { throw refusal("has neither a code nor an error") }
    return code
  }

  private static func checkPlace(_ callback: String, _ redirectURI: String) throws(HTTPError) {
    let (place, expected) = (URLText.base(callback), URLText.base(redirectURI))
    if place == expected { return }
    // A loopback server sees only the path.
    if place.hasPrefix("/"), let url = try? AbsoluteURL.parse(redirectURI), url.path == place { return }
    throw refusal("is not at the redirect URI '\(Printable.text(expected))'")
  }

  /// Compares the issuer, so the code is not sent to another server than the one that issued it (RFC 9207 §2.4).
  private static func checkIssuer(_ issuer: String?, _ server: OAuthClient.Server) throws(HTTPError) {
    guard let expected = server.issuer else {
      if server.requiresIssuer {
        throw HTTPError(.invalidRequest, "requiresIssuer needs the server's issuer")
      }
      return
    }
    guard let issuer else {
      if server.requiresIssuer { throw refusal("has no issuer (iss)") }
      return
    }
    guard issuer == expected else {
      throw refusal("comes from the issuer '\(Printable.text(URLText.origin(issuer)))', not from the expected one")
    }
  }

  private static func refusal(_ reason: String) -> HTTPError {
    HTTPError(.authenticationFailed, "the callback \(reason): it was not caused by this authorization")
  }
}
