import Foundation
import Martlet
import TestSupport
import Testing

@testable import MartletOAuth

@Suite(.hangLimit) struct AuthorizationTests {
  private static let issuer = "https://id.test"
  private static let app = "com.example.app:/in"

  private static func client(
    _ issuer: String? = issuer, requiresIssuer: Bool = false, endpoint: String? = "https://id.test/authorize?tenant=1"
  ) -> OAuthClient {
    var server = OAuthClient.Server(
      issuer: issuer, tokenEndpoint: "https://id.test/token", authorizationEndpoint: endpoint)
    server.requiresIssuer = requiresIssuer
    return OAuthClient(at: server, clientID: "app")
  }

  private static func authorization(_ redirectURI: String = app) throws -> OAuthClient.Authorization {
    try client().authorization(redirectURI: redirectURI, scope: "a b", ["prompt": "login"], state: "st", verifier: "v")
  }

  @Test func `computes the challenge of RFC 7636 appendix B`() {
    #expect(
      PKCE.challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
  }

  @Test func `makes the URL for the browser`() throws {
    let authorization = try Self.authorization()

    let query = try #require(authorization.url.absoluteString.split(separator: "?").last)
    let challenge = PKCE.challenge("v")
    #expect(authorization.url.absoluteString.hasPrefix("https://id.test/authorize?tenant=1&"))
    #expect(
      Query(parsing: String(query)).items.map { "\($0.name)=\($0.value ?? "")" } == [
        "tenant=1", "response_type=code", "client_id=app", "redirect_uri=com.example.app:/in", "scope=a b", "state=st",
        "code_challenge=\(challenge)", "code_challenge_method=S256", "prompt=login",
      ])
    #expect("\(authorization)" == "Authorization(com.example.app:/in)")
  }

  @Test func `makes another state and verifier each time, which can be stored`() throws {
    let client = Self.client()
    let one = try client.authorization(redirectURI: Self.app)
    let other = try client.authorization(redirectURI: Self.app)

    let copy = try JSONDecoder().decode(OAuthClient.Authorization.self, from: JSONEncoder().encode(one))

    #expect(one.state != other.state && one.verifier != other.verifier && one.verifier.utf8.count == 43)
    #expect(copy == one)
  }

  @Test(arguments: ["", "/in", "in", "http://app.test/in", "https://app.test/in#x", "https://app.test/a b", "1x:/in"])
  func `refuses a redirect URI`(uri: String) {
    let error = #expect(throws: HTTPError.self) { try Self.client().authorization(redirectURI: uri) }

    #expect(error?.kind == .invalidRequest && error?.message.contains("redirectURI") == true)
  }

  @Test(arguments: ["http://127.0.0.1:8400/in", "http://[::1]/in", "http://localhost:1/in", "https://app.test/in?x=y"])
  func `accepts a redirect URI`(uri: String) throws {
    #expect(try Self.client().authorization(redirectURI: uri).redirectURI == uri)
  }

  @Test(arguments: [nil, "http://id.test/authorize", "ftp://id.test", "https://id.test/#x", "https://u:p@id.test/"])
  func `refuses an authorization endpoint`(endpoint: String?) {
    let error = #expect(throws: HTTPError.self) {
      try Self.client(endpoint: endpoint).authorization(redirectURI: Self.app)
    }

    #expect(error?.kind == .invalidRequest && error?.message.contains("authorizationEndpoint") == true)
  }

  @Test(arguments: ["client_id", "state", "code_challenge", "redirect_uri", "client_secret"])
  func `refuses parameters that are its own`(name: String) {
    let error = #expect(throws: HTTPError.self) {
      try Self.client().authorization(redirectURI: Self.app, parameters: Query(items: [.init(name: name, value: "x")]))
    }

    #expect(error?.kind == .invalidRequest && error?.message.contains(name) == true)
  }

  @Test(arguments: [
    ("com.example.app:/in", "com.example.app:/in?code=c&state=st"),
    ("com.example.app:/in", "com.example.app:/in?state=st&code=c&iss=https%3A%2F%2Fid.test&other=1&other=2#_=_"),
    ("http://127.0.0.1:8400/in", "/in?code=c&state=st"),
    ("https://a.test/in?x=y", "https://a.test/in?x=y&code=c&state=st"),
  ]) func `takes the code of a callback`(redirectURI: String, callback: String) throws {
    let code = try AuthorizationCallback.code(callback, Self.authorization(redirectURI), Self.client().server)

    #expect(code == "c")
  }

  @Test(arguments: [
    ("com.example.app:/in?code=c", "has no state"), ("com.example.app:/in?code=c&state=", "another authorization"),
    ("com.example.app:/in?code=c&state=ST", "another authorization"),
    ("com.example.app:/in?error=access_denied&state=x", "another authorization"),
    ("com.example.app:/in?code=c&code=d&state=st", "contains 'code' twice"),
    ("com.example.app:/in?code=c&state=st&state=st", "contains 'state' twice"),
    ("com.example.app:/in?state=st", "has neither a code nor an error"),
    ("com.example.app:/in?code=&state=st", "has neither a code nor an error"),
    ("com.example.app:/in#code=c&state=st", "has no state"),
    ("com.example.app:/other?code=c&state=st", "is not at the redirect URI"),
    ("/in?code=c&state=st", "is not at the redirect URI"), ("", "is not at the redirect URI"),
    ("com.example.app:/in?code=c&state=st&iss=https%3A%2F%2Fevil.test", "comes from the issuer 'https://evil.test'"),
    ("com.example.app:/in?code=c&state=st&iss=https%3A%2F%2Fid.test%2F", "not from the expected one"),
    ("com.example.app:/in?code=c&state=st&iss=", "not from the expected one"),
  ]) func `refuses a callback that it has not caused`(callback: String, message: String) {
    let error = #expect(throws: HTTPError.self) {
      try AuthorizationCallback.code(callback, Self.authorization(), Self.client().server)
    }

    #expect(error?.kind == .authenticationFailed && error?.oauthError == nil)
    #expect(error?.message.contains(message) == true, "\(String(describing: error))")
  }

  @Test func `requires the issuer of servers that send it`() throws {
    let callback = "com.example.app:/in?code=c&state=st"

    let strict = #expect(throws: HTTPError.self) {
      try AuthorizationCallback.code(callback, Self.authorization(), Self.client(requiresIssuer: true).server)
    }
    let unknown = #expect(throws: HTTPError.self) {
      try AuthorizationCallback.code(callback, Self.authorization(), Self.client(nil, requiresIssuer: true).server)
    }

    #expect(strict?.message.contains("has no issuer") == true && unknown?.kind == .invalidRequest)
  }

  @Test func `reports the error of a callback`() {
    let callback = "com.example.app:/in?error=access_denied&error_description=The%20user%0Arefused&state=st"

    let error = #expect(throws: HTTPError.self) {
      try AuthorizationCallback.code(callback, Self.authorization(), Self.client().server)
    }

    #expect(error?.oauthError?.code == .accessDenied && error?.oauthError?.message?.contains("\n") == false)
    #expect(error?.message.hasPrefix("the authorization endpoint refused: access_denied (The user") == true)
  }
}
