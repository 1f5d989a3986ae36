import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// The error of a 401 explains why the client could not respond to the challenges.
@Suite(.hangLimit) struct UnansweredChallengeTests {
  @Test(arguments: [
    (
      #"Digest realm="r", nonce="n", qop="auth-int""#,
      #": the server offers Digest with the quality of protection "auth-int"; only "auth" is supported"#
    ),
    (
      #"Digest realm="r", nonce="n", qop="auth", algorithm=SHA-512"#,
      #": the server offers Digest with the algorithm "SHA-512", which is not supported"#
    ),
    (
      #"Basic realm="r", Digest realm="r", nonce="n", qop="auth-int""#,
      #": the server offers Digest with the quality of protection "auth-int"; only "auth" is supported"#
    ),
    (#"Digest realm="r", nonce="n", qop="auth", Digest realm="r", nonce="n", algorithm=SHA-512"#, ""),
    (#"Digest realm="r", nonce="n""#, ""), (#"Digest realm="r""#, ""), ("Hawk", ""),
  ]) func `the error explains why a Digest challenge was not answered`(challenge: String, expected: String) async throws
  {
    let transport = AuthServer.accepting(challenge: challenge)
    let client = HTTPClient.stubbed(transport, .authenticator(.digest(user: "u", password: "wrong")))

    let error = await #expect(throws: HTTPError.self) { try await client.get("/") }

    #expect(error?.kind == .status)
    #expect(error?.message == "401 Unauthorized" + expected)
  }

  @Test(
    arguments: [
      nil, .password(user: "u", password: "wrong"), .basic(user: "u", password: "wrong"),
    ] as [Authenticators.CredentialAuthenticator?]) func `the error does not mention Digest if Basic could be answered`(
      authenticator: Authenticators.CredentialAuthenticator?
    ) async throws
  {
    let transport = AuthServer.accepting(challenge: #"Digest realm="r", nonce="n", qop="auth-int", Basic realm="r""#)
    let client = HTTPClient.stubbed(transport, .authenticator(authenticator))

    let error = await #expect(throws: HTTPError.self) { try await client.get("/") }

    #expect(error?.message == "401 Unauthorized")
  }

  @Test(arguments: [
    ("{}", #"the challenge cannot be read: "{}""#), (#"Digest realm="r""#, "Digest without a readable nonce"),
    ("Digest realm=\"\u{7}\"", "Digest without a readable nonce and realm"),
    ("Digest realm=r, nonce=n, opaque=\"\u{7}\"", "Digest without a readable opaque"),
    ("Hawk", "hawk cannot be used, or was tried before"),
  ]) func `the explanation names what could not be read`(challenge: String, expected: String) async throws {
    let transport = AuthServer.accepting(challenge: challenge)
    let client = HTTPClient.stubbed(transport, .authenticator(.digest(user: "u", password: "p")))

    let response = try await client.get("/", options: .accepts(.any).explains())

    #expect("\(response.explanation)".contains(expected), "\(response.explanation)")
    #expect(transport.requests.count == 1)
  }

  @Test(arguments: [
    "Basic realm=my realm", "Basic realm='x'", #"Basic realm="a"#, "Basic realm=\"unterminated",
    #"Basic realm="a" x="b""#,
    #"Basic realm="a", realm="b""#, "Basic realm=\"a\u{7}\"",
    #"Digest realm="r" nonce="n""#, #"Digest realm="r"; nonce="n"; qop="""#, "Digest realm=my realm, nonce=YQ==",
  ]) func `answers the malformed challenges of small devices`(challenge: String) async throws {
    let transport = StubTransport { request in
      request.headers["Authorization"] == nil ? AuthServer.refusal(challenge) : .text("in")
    }
    let client = HTTPClient.stubbed(transport, .authenticator(.password(user: "u", password: "p")))

    #expect(try await client.get("/").text == "in")
    let sent = try #require(transport.authorizations.last ?? nil)
    #expect(sent.hasPrefix(challenge.hasPrefix("Basic") ? "Basic " : "Digest "))
    #expect(!sent.contains("qop="))
  }
}
