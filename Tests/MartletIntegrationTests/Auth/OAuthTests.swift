#if os(Linux)
  import Foundation
  import Martlet
  import MartletOAuth
  import MartletTesting
  import TestSupport
  import Testing

  /// Tokens of a third-party authorization server.
  @Suite(.hangLimit, .needs(.python, .openssl, problem: OAuthServer.problem)) struct OAuthTests {
    /// A store in memory.
    private final class Store: OAuthTokenStore {
      let content: Shared<OAuthToken?>

      init(_ token: OAuthToken?) { content = Shared(token) }

      func token() async throws -> OAuthToken? { content.value }
      func save(_ token: OAuthToken) async throws { content.withLock { $0 = token } }
    }

    /// A key that `openssl` has generated.
    private static func key(_ arguments: [String], _ name: String? = nil) async throws -> OAuthKey {
      let folder = try TemporaryFolder()
      try await TestProgram.openssl.run(["genpkey", "-out", folder.path("key.pem")] + arguments)
      return try OAuthKey(pem: String(contentsOfFile: folder.path("key.pem"), encoding: .utf8), keyID: name)
    }

    private static func signIn(_ server: OAuthServer, _ oauth: OAuthClient) async throws -> OAuthToken {
      let authorization = try oauth.authorization(redirectURI: OAuthServer.redirectURI, scope: "read")
      let callback = try await server.callback(of: authorization.url)
      return try await oauth.token(for: authorization, callback: callback)
    }

    @Test(arguments: [("basic", OAuthClient.Authentication.secretBasic("s3cret-1")), ("post", .secretPost("s3cret-1"))])
    func `client credentials open the API, again after they expire`(
      id: String, authentication: OAuthClient.Authentication
    ) async throws {
      let server = try await OAuthServer()
      let client = server.api(server.oauth(id, authentication), .clientCredentials(scope: "read"))

      let texts = [try await client.get(server.target("api")).text, try await client.get(server.target("api")).text]
      try await server.command("expire")
      let later = try await client.get(server.target("api")).text

      #expect(texts == ["in", "in"] && later == "in")
      #expect(try await server.facts().tokens == 2)
    }

    @Test func `a wrong secret is the server's error`() async throws {
      let server = try await OAuthServer()

      let error = await #expect(throws: HTTPError.self) {
        try await server.oauth("basic", .secretBasic("wrong")).clientCredentials()
      }

      #expect(error?.oauthError?.code == .invalidClient && error?.status == .unauthorized)
    }

    @Test(arguments: [
      ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
      ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"], ["-algorithm", "ED25519"],
    ]) func `authlib accepts the assertions of a registered key only`(arguments: [String]) async throws {
      let server = try await OAuthServer()
      let key = try await Self.key(arguments, "k1")
      let other = try await Self.key(arguments, "k1")
      try await server.command("keys/keyed", .json(key.publicJWK))

      for _ in 0..<3 {
        let token = try await server.oauth("keyed", .privateKey(key, audience: "\(server.url)/token"))
          .clientCredentials()
        #expect(token.kind == .bearer)
      }
      let error = await #expect(throws: HTTPError.self) {
        try await server.oauth("keyed", .privateKey(other, audience: "\(server.url)/token")).clientCredentials()
      }

      #expect(error?.oauthError?.code == .invalidClient, "\(server.errors)")
    }

    @Test func `a code with PKCE is exchanged once`() async throws {
      let server = try await OAuthServer()
      let oauth = server.oauth("public")
      let authorization = try oauth.authorization(redirectURI: OAuthServer.redirectURI, scope: "read")
      let callback = try await server.callback(of: authorization.url)

      let stranger = try oauth.authorization(redirectURI: OAuthServer.redirectURI)
      let foreign = await #expect(throws: HTTPError.self) {
        try await oauth.token(for: stranger, callback: callback)
      }
      let token = try await oauth.token(for: authorization, callback: callback)
      let again = await #expect(throws: HTTPError.self) {
        try await oauth.token(for: authorization, callback: callback)
      }

      #expect(foreign?.message.contains("another authorization") == true)
      #expect(token.refreshToken != nil && token.scope == "read" && token.expires != nil)
      #expect(again?.oauthError?.code == .invalidGrant)
    }

    @Test func `a code is worth nothing without its verifier`() async throws {
      let server = try await OAuthServer()
      let oauth = server.oauth("public")
      let authorization = try oauth.authorization(redirectURI: OAuthServer.redirectURI)
      let callback = try await server.callback(of: authorization.url)

      // The same state, with another verifier.
      var members = try JSONDecoder().decode([String: String].self, from: JSONEncoder().encode(authorization))
      members["verifier"] = String(repeating: "a", count: 43)
      let stolen = try JSONDecoder().decode(OAuthClient.Authorization.self, from: JSONEncoder().encode(members))
      let error = await #expect(throws: HTTPError.self) { try await oauth.token(for: stolen, callback: callback) }

      #expect(error?.oauthError?.code == .invalidGrant)
    }

    @Test func `a user who refuses is the server's error`() async throws {
      let server = try await OAuthServer()
      let oauth = server.oauth("public")
      let authorization = try oauth.authorization(redirectURI: OAuthServer.redirectURI)
      let callback = try await server.callback(of: authorization.url, parameters: ["refuse": "1"])

      let error = await #expect(throws: HTTPError.self) {
        try await oauth.token(for: authorization, callback: callback)
      }

      #expect(error?.oauthError?.code == .accessDenied)
    }

    @Test func `a device polls until the user has confirmed`() async throws {
      let server = try await OAuthServer()
      let oauth = server.oauth("public")
      let code = try await oauth.deviceCode(scope: "read")

      async let pending = oauth.token(for: code)
      try await server.command("approve/\(code.userCode)")
      let token = try await pending

      #expect(token.refreshToken != nil && code.completeURI?.hasSuffix(code.userCode) == true)
      #expect(try await server.api(oauth, .token(token)).get(server.target("api")).text == "in")
    }

    @Test func `one of many requests refreshes, and every refresh token is used once`() async throws {
      let server = try await OAuthServer()
      let oauth = server.oauth("public")
      let store = Store(try await Self.signIn(server, oauth))
      let client = server.api(oauth, .stored(in: store))

      for _ in 0..<3 {
        try await server.command("expire")
        try await withThrowingTaskGroup(of: String.self) { group in
          for _ in 0..<32 { group.addTask { try await client.get(server.target("api")).text } }
          for try await text in group { #expect(text == "in") }
        }
      }

      let facts = try await server.facts()
      #expect(facts.refreshes == 3 && facts.reuses == 0 && facts.tokens == 4)
      // The next process continues with the store.
      try await server.command("expire")
      #expect(try await server.api(oauth, .stored(in: store)).get(server.target("api")).text == "in")
    }

    @Test func `a lost response is not mistaken for a stolen token`() async throws {
      let server = try await OAuthServer()
      let oauth = server.oauth("public")
      let client = server.api(oauth, .token(try await Self.signIn(server, oauth)))
      try await server.command("expire")
      try await server.command("lose")

      let first = await #expect(throws: HTTPError.self) { try await client.get(server.target("api")) }
      let second = await #expect(throws: HTTPError.self) { try await client.get(server.target("api")) }

      #expect((first?.underlying as? HTTPError)?.kind == .connectionLost)
      #expect(second?.oauthError?.code == .invalidGrant && second?.oauthError?.followsLostResponse == true)
    }

    @Test func `authlib verifies the proofs of tokens and of requests`() async throws {
      let server = try await OAuthServer()
      let proof = try OAuthProof(.generate(), for: [server.url])
      let oauth = server.oauth("public", dpop: proof)
      let token = try await Self.signIn(server, oauth)
      let client = server.api(oauth, .token(token))

      for path in ["api", "api?a=b%20c&d", "api"] {
        #expect(try await client.get(server.target(path)).text == "in", "\(server.errors)")
      }
      try await server.command("expire")
      let refreshed = try await client.get(server.target("api")).text

      #expect(token.kind == .dpop && refreshed == "in")
      let facts = try await server.facts()
      // Two tokens and four requests, of which the last one was sent twice; each server has required its nonce once.
      #expect(facts.proofs == 6 && facts.nonces == 2)
    }

    @Test func `another key cannot use a bound token, and neither can a bearer`() async throws {
      let server = try await OAuthServer()
      let oauth = server.oauth("public", dpop: try OAuthProof(.generate(), for: [server.url]))
      let token = try await Self.signIn(server, oauth)
      let stolen = try OAuthProof(.generate(), for: [server.url])
      let thief = Lane.curl.client { $0.exchangeMiddleware = [stolen] }

      let bound = try await thief.get(server.target("api"), options: .credential(token.credential))
      let bearer = try await Lane.curl.client().get(server.target("api"), options: .credential(token.credential))
      let refresh = await #expect(throws: HTTPError.self) {
        try await server.oauth("public", dpop: stolen).refresh(token)
      }

      #expect(bound.status == .unauthorized && bearer.status == .unauthorized)
      #expect(refresh?.oauthError?.code == .invalidGrant)
    }
  }
#endif
