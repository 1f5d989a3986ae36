import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

@testable import MartletOAuth

@Suite(.hangLimit) struct OAuthClientTests {
  static let token = #"{"access_token":"a1","token_type":"Bearer","expires_in":3600,"refresh_token":"r1"}"#

  static func oauth(
    _ transport: StubTransport, _ authentication: OAuthClient.Authentication = .none, id: String = "app",
    issuer: String? = nil, endpoint: String = "https://id.test/token", dpop: OAuthProof? = nil,
    change: @Sendable (inout HTTPClient.Configuration) -> Void = { _ in }
  ) -> OAuthClient {
    OAuthClient(
      at: .init(issuer: issuer, tokenEndpoint: endpoint), clientID: id, authentication: authentication, dpop: dpop,
      through: .stubbed(transport, change: change))
  }

  private static let user = OAuthToken(accessToken: "a0", refreshToken: "r0", scope: "x")

  @Test func `authenticates with a secret in the field, encoded like a form`() async throws {
    let transport = StubTransport { _ in .json(Self.token) }

    _ = try await Self.oauth(transport, .secretBasic("p:w %&+£"), id: "a b").clientCredentials(
      scope: "read write", parameters: ["resource": "https://api.test/"])

    let request = try #require(transport.requests.first)
    let expected = Data("a%20b:p%3Aw%20%25%26%2B%C2%A3".utf8).base64EncodedString()
    #expect(request.headers["Authorization"] == "Basic \(expected)" && request.method == .post)
    #expect(
      request.body
        == .form(["grant_type": "client_credentials", "scope": "read write", "resource": "https://api.test/"]))
    #expect(request.headers["Accept"] == "application/json")
  }

  @Test func `authenticates with a secret in the body, or with its identifier only`() async throws {
    let transport = StubTransport { _ in .json(Self.token) }

    _ = try await Self.oauth(transport, .secretPost("s")).clientCredentials()
    _ = try await Self.oauth(transport).refresh(Self.user)

    #expect(
      transport.requests.map(\.body) == [
        .form(["grant_type": "client_credentials", "client_id": "app", "client_secret": "s"]),
        .form(["grant_type": "refresh_token", "refresh_token": "r0", "client_id": "app"]),
      ])
    #expect(transport.requests.allSatisfy { !$0.headers.contains("Authorization") })
  }

  @Test func `sends no secret default fields`() async throws {
    let transport = StubTransport { _ in .json(#"{"access_token":"a","token_type":"Bearer"}"#) }
    let oauth = Self.oauth(transport) {
      $0.baseURL = nil
      $0.headers = ["Authorization": "Basic eDp5", "X-Api-Key": "k", "X-Auth-Token": "t", "X-Region": "eu"]
      $0.crossOriginHeaders = ["X-Auth-Token"]
    }

    _ = try await oauth.refresh(Self.user)

    let headers = try #require(transport.requests.first?.headers)
    #expect(!headers.contains("Authorization") && !headers.contains("X-Api-Key"))
    #expect(headers["X-Region"] == "eu" && headers["X-Auth-Token"] == "t")
  }

  @Test(arguments: [OAuthClient.Authentication.secretBasic("se/cret=12"), .secretPost("se/cret=12")])
  func `hides secrets that a server quotes as they were sent`(authentication: OAuthClient.Authentication) async {
    let transport = StubTransport { request in
      let body = String(decoding: try await request.bodyData(), as: UTF8.self)
      let text = "\(body) \(request.headers["Authorization"] ?? "")"
      return .json(#"{"error":"invalid_client","error_description":"\#(text)"}"#, status: .badRequest)
    }

    let error = await #expect(throws: HTTPError.self) {
      try await Self.oauth(transport, authentication).clientCredentials()
    }

    let text = error?.oauthError?.message ?? ""
    #expect(text.contains("grant_type=client_credentials") && text.contains("***") && !text.contains("%2Fcret"))
    #expect(!text.contains(OAuthClient.basic("app", "se/cret=12")))
  }

  @Test(arguments: [nil, "https://id.test"]) func `authenticates with an assertion`(issuer: String?) async throws {
    let transport = StubTransport { _ in .json(Self.token) }
    let key = try OAuthKey(pem: TestKeys.p256, keyID: "k1")
    let oauth = Self.oauth(transport, .privateKey(key), issuer: issuer)

    for _ in 0..<2 { _ = try await oauth.clientCredentials() }

    var assertions: [String?] = []
    for request in transport.requests {
      let items = Query(parsing: String(decoding: try await request.bodyData(), as: UTF8.self)).items
      let type = items.first { $0.name == "client_assertion_type" }?.value
      #expect(type == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
      assertions.append(items.first { $0.name == "client_assertion" }?.value)
    }
    #expect(try ProofTests.claims(assertions[0], part: 0) == ["alg": "ES256", "typ": "JWT", "kid": "k1"])
    let (one, other) = (try ProofTests.claims(assertions[0]), try ProofTests.claims(assertions[1]))
    #expect(one["iss"] == "app" && one["sub"] == "app")
    #expect(one["aud"] == .string(issuer ?? "https://id.test/token"))
    #expect(one["iat"] == 1_700_000_000 && one["exp"] == 1_700_000_060 && one["jti"] != other["jti"])
  }

  @Test func `keeps what a refresh does not replace`() async throws {
    let transport = StubTransport { _ in .json(#"{"access_token":"a1","token_type":"Bearer"}"#) }

    let new = try await Self.oauth(transport).refresh(Self.user)

    #expect(new == OAuthToken(accessToken: "a1", refreshToken: "r0", scope: "x"))
  }

  @Test(arguments: [
    "http://id.test/token", "https://id.test/token#x", "https://u:s3cret@id.test/", "ftp://id.test", "",
    "id.test/token",
  ]) func `sends nothing to an endpoint that is not safe`(endpoint: String) async throws {
    let transport = StubTransport { _ in .json(Self.token) }

    let error = await #expect(throws: HTTPError.self) {
      try await Self.oauth(transport, endpoint: endpoint).refresh(Self.user)
    }

    #expect(error?.kind == .invalidRequest && error?.message.contains("tokenEndpoint") == true)
    #expect(error?.message.contains("s3cret") == false && transport.requests.isEmpty)
  }

  @Test(arguments: ["http://127.0.0.1:1/t", "http://127.9.9.9/t", "http://[::1]:1/t", "http://localhost/t"])
  func `accepts http on loopback addresses`(endpoint: String) async throws {
    let transport = StubTransport { _ in .json(Self.token) }

    #expect(try await Self.oauth(transport, endpoint: endpoint).refresh(Self.user).accessToken == "a1")
  }

  @Test(arguments: ["127.0.0.1.evil.test", "128.0.0.1", "127.0.0", "127.0.0.256", "localhost.evil.test"])
  func `knows loopback addresses from others`(host: String) { #expect(!OAuthClient.isLoopback(host)) }

  @Test func `sends nothing without what the grant needs`() async throws {
    let transport = StubTransport { _ in .json(Self.token) }
    let oauth = Self.oauth(transport)
    let requests: [() async throws -> Void] = [
      { _ = try await oauth.clientCredentials() }, { _ = try await oauth.refresh(OAuthToken(accessToken: "a")) },
      { _ = try await oauth.deviceCode() }, { _ = try oauth.authorization(redirectURI: "https://app.test/") },
      { _ = try await Self.oauth(transport, .secretPost("s")).clientCredentials(parameters: ["grant_type": "x"]) },
    ]

    for request in requests {
      let error = await #expect(throws: HTTPError.self) { try await request() }
      #expect(error?.kind == .invalidRequest)
    }
    #expect(transport.requests.isEmpty)
  }

  @Test func `follows no redirect, retries nothing and reads no endless body`() async throws {
    let responses: [(StubResponse, HTTPError.Kind)] = [
      (.redirect(to: "https://evil.test/", status: 307), .redirectRefused), (.status(.serviceUnavailable), .status),
      (.text(String(repeating: "x", count: OAuthClient.maximumBodyBytes + 1)), .bodyTooLarge),
    ]

    for (response, kind) in responses {
      let transport = StubTransport { _ in response }
      let oauth = Self.oauth(transport, .secretPost("s")) { $0.retry = .backoff(attempts: 5) }
      let error = await #expect(throws: HTTPError.self) { try await oauth.clientCredentials() }
      #expect(error?.kind == kind && transport.requests.count == 1)
    }
  }

  @Test func `sends no credentials of its client`() async throws {
    let transport = StubTransport { _ in .json(Self.token) }
    let oauth = Self.oauth(transport) {
      $0.authenticators[.origin("https://id.test")] = .bearer("other")
      $0.options.credential = .user("ada", password: "x")
    }

    _ = try await oauth.refresh(Self.user)

    #expect(transport.requests.map { $0.headers["Authorization"] } == [nil])
  }

  @Test func `repeats a token request once with the server's nonce`() async throws {
    let proof = try OAuthProof(OAuthKey(pem: TestKeys.p256), for: [])
    let transport = StubTransport { request in
      let nonce = try ProofTests.claims(request.headers["DPoP"])["nonce"]
      return nonce == "n"
        ? .json(#"{"access_token":"a","token_type":"DPoP"}"#)
        : .json(#"{"error":"use_dpop_nonce"}"#, status: .badRequest, headers: ["DPoP-Nonce": "n"])
    }
    let oauth = Self.oauth(transport, .secretPost("s"), dpop: proof)

    let tokens = [try await oauth.clientCredentials(), try await oauth.clientCredentials()]

    #expect(tokens.allSatisfy { $0.kind == .dpop } && transport.requests.count == 3)
    let claims = try transport.requests.map { try ProofTests.claims($0.headers["DPoP"]) }
    #expect(claims.allSatisfy { $0["htm"] == "POST" && $0["htu"] == "https://id.test/token" && $0["ath"] == .null })
    #expect(Set(claims.map { $0["jti"] }).count == 3)
  }

  @Test func `gives up if the nonce is never right`() async throws {
    let proof = try OAuthProof(OAuthKey(pem: TestKeys.p256), for: [])
    let transport = StubTransport { _ in
      .json(#"{"error":"use_dpop_nonce"}"#, status: .badRequest, headers: ["DPoP-Nonce": "n"])
    }

    let error = await #expect(throws: HTTPError.self) {
      try await Self.oauth(transport, .secretPost("s"), dpop: proof).clientCredentials()
    }

    #expect(error?.oauthError?.code == .useDPoPNonce && transport.requests.count == 2)
  }

  @Test func `exchanges the code of a callback`() async throws {
    let transport = StubTransport { _ in .json(Self.token) }
    let server = OAuthClient.Server(
      tokenEndpoint: "https://id.test/token", authorizationEndpoint: "https://id.test/authorize")
    let oauth = OAuthClient(at: server, clientID: "app", through: .stubbed(transport))
    let authorization = try oauth.authorization(redirectURI: "com.example.app:/in")

    let token = try await oauth.token(
      for: authorization, callback: "com.example.app:/in?code=c&state=\(authorization.state)")

    #expect(token.refreshToken == "r1")
    #expect(
      transport.requests.map(\.body) == [
        .form([
          "grant_type": "authorization_code", "code": "c", "redirect_uri": "com.example.app:/in",
          "code_verifier": authorization.verifier, "client_id": "app",
        ])
      ])
  }
}
