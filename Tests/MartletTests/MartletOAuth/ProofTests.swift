import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

@testable import MartletOAuth

@Suite(.hangLimit) struct ProofTests {
  /// The claims of a proof or an assertion.
  static func claims(_ token: String?, part: Int = 1) throws -> JSONValue {
    let parts = try #require(token).split(separator: ".")
    let base64 = parts[part].replacing("-", with: "+").replacing("_", with: "/")
    let data = try #require(
      Data(base64Encoded: base64 + String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)))
    return try JSONDecoder().decode(JSONValue.self, from: data)
  }

  private static func proof(_ origins: String...) throws -> OAuthProof {
    try OAuthProof(OAuthKey(pem: TestKeys.p256), for: origins)
  }

  @Test func `contains the claims of RFC 9449 §7`() throws {
    let url = try AbsoluteURL.parse("HTTPS://Resource.example.org:443/protectedresource?a=b#c")

    let claims = OAuthProof.claims(
      "GET", url, token: "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU", nonce: "n", seconds: 1_562_262_618, id: "e1j3V")

    #expect(
      claims == [
        "jti": "e1j3V", "htm": "GET", "htu": "https://resource.example.org/protectedresource", "iat": 1_562_262_618,
        "ath": "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo", "nonce": "n",
      ])
  }

  @Test func `proves bearer tokens to its origins, with a new identifier each time`() async throws {
    let proof = try Self.proof("https://api.test")
    let transport = StubTransport { _ in .text("in") }
    let client = HTTPClient.stubbed(transport) {
      $0.exchangeMiddleware = [proof]
      $0.options.credential = nil
    }

    try await client.get("https://api.test:443/a?b", headers: ["Authorization": "Bearer t"])
    try await client.post("https://api.test/a", headers: ["Authorization": "Bearer t"])
    try await client.get("https://other.test/", headers: ["Authorization": "Bearer t"])
    try await client.get("https://api.test/", headers: ["Authorization": "Basic YTpi"])

    let requests = transport.requests
    #expect(requests.map { $0.headers["Authorization"] } == ["DPoP t", "DPoP t", "Bearer t", "Basic YTpi"])
    #expect(requests[2...].allSatisfy { !$0.headers.contains("DPoP") })
    let (one, other) = (try Self.claims(requests[0].headers["DPoP"]), try Self.claims(requests[1].headers["DPoP"]))
    #expect(one["htu"] == "https://api.test/a" && one["htm"] == "GET" && other["htm"] == "POST")
    #expect(one["jti"] != other["jti"] && one["iat"] == 1_700_000_000 && one["nonce"] == .null)
    let header = try Self.claims(requests[0].headers["DPoP"], part: 0)
    #expect(header["typ"] == "dpop+jwt" && header["alg"] == "ES256" && header["jwk"]["kty"] == "EC")
    #expect(header["jwk"]["d"] == .null)
  }

  @Test func `repeats a request once with the nonce that the server requires`() async throws {
    let proof = try Self.proof("https://api.test")
    let transport = StubTransport { request in
      let claims = try ProofTests.claims(request.headers["DPoP"])
      return claims["nonce"] == "n1"
        ? .text("in", headers: ["DPoP-Nonce": "n2"])
        : .status(.unauthorized, headers: ["WWW-Authenticate": #"DPoP error="use_dpop_nonce""#, "DPoP-Nonce": "n1"])
    }
    let client = HTTPClient.stubbed(transport) { $0.exchangeMiddleware = [proof] }

    let response = try await client.get("https://api.test/", headers: ["Authorization": "Bearer t"])

    #expect(response.text == "in" && transport.requests.count == 2)
    let ids = try transport.requests.map { try Self.claims($0.headers["DPoP"])["jti"] }
    #expect(ids[0] != ids[1])
    let origin = try AbsoluteURL.parse("https://api.test").origin
    #expect(proof.nonce(of: .init(kind: .resource, origin: origin)) == "n2")
    #expect(proof.nonce(of: .init(kind: .authorization, origin: origin)) == nil)
  }

  @Test(arguments: [true, false]) func `spends no refresh token on a nonce`(isReplayable: Bool) async throws {
    let proof = try Self.proof("https://api.test")
    let number = Shared(0)
    let transport = StubTransport { _ in
      let nonce = number.withLock { number in
        number += 1
        return "n\(number)"
      }
      return .status(
        .unauthorized, headers: ["WWW-Authenticate": #"DPoP error="use_dpop_nonce""#, "DPoP-Nonce": nonce])
    }
    let oauth = OAuthClientTests.oauth(transport, dpop: proof)
    let client = HTTPClient.stubbed(transport) {
      $0.authenticators[.origin("https://api.test")] = .oauth(
        oauth, .token(OAuthToken(accessToken: "a", kind: .dpop, refreshToken: "r")))
      $0.exchangeMiddleware = [proof]
    }
    let body: HTTPBody = isReplayable ? .text("x") : .stream(AsyncStream<Data> { $0.finish() })

    let error = await #expect(throws: HTTPError.self) { try await client.post("https://api.test/", body: body) }

    #expect(error?.kind == (isReplayable ? .authenticationFailed : .bodyNotReplayable))
    #expect(error?.message.contains("nonce") == true)
    #expect(transport.requests.map { $0.url?.path() } == Array(repeating: "/", count: isReplayable ? 2 : 1))
    let origin = try AbsoluteURL.parse("https://api.test").origin
    #expect(proof.nonce(of: .init(kind: .resource, origin: origin)) == "n\(number.value)")
  }

  @Test func `proves tokens to the servers of a cluster that is one service, with their own URLs`() async throws {
    let proof = try Self.proof("https://api.test")
    let transport = StubTransport { _ in .text("in") }
    let client = HTTPClient.stubbed(transport) {
      $0.baseURL = "https://api.test"
      $0.cluster = .roundRobin(["https://a.test"], isOneService: true)
      $0.exchangeMiddleware = [proof]
    }

    try await client.get("/x", headers: ["Authorization": "Bearer t"])

    let headers = try #require(transport.requests.first?.headers)
    #expect(headers["Authorization"] == "DPoP t")
    #expect(try Self.claims(headers["DPoP"])["htu"] == "https://a.test/x")
  }

  @Test(
    arguments: [
      ["WWW-Authenticate": #"DPoP error="invalid_token""#, "DPoP-Nonce": "n1"],
      ["WWW-Authenticate": #"DPoP error="use_dpop_nonce""#],
      ["WWW-Authenticate": #"DPoP error="use_dpop_nonce""#, "DPoP-Nonce": "a\"b"],
    ] as [HTTPHeaders]) func `repeats no request without a reason`(headers: HTTPHeaders) async throws
  {
    let proof = try Self.proof("https://api.test")
    let transport = StubTransport { _ in .status(.unauthorized, headers: headers) }
    let client = HTTPClient.stubbed(transport) { $0.exchangeMiddleware = [proof] }

    let error = await #expect(throws: HTTPError.self) {
      try await client.get("https://api.test/", headers: ["Authorization": "Bearer t"])
    }

    #expect(error?.status == .unauthorized && transport.requests.count == 1)
  }

  @Test(arguments: ["http://api.example.com", "ftp://a.test", "", "api.test"])
  func `refuses an origin that is not https`(origin: String) {
    let error = #expect(throws: HTTPError.self) { try Self.proof(origin) }

    #expect(error?.kind == .invalidRequest)
  }
}
