import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// What the error of a 401 says of challenges that nobody could answer.
@Suite(.hangLimit) struct UnansweredChallengeTests {
  private static func client(_ transport: StubTransport, _ authenticator: CredentialAuthenticator?) -> HTTPClient {
    HTTPClient.stubbed(transport) {
      if let authenticator { $0.authenticators[.baseURL] = authenticator }
    }
  }

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
    let client = Self.client(transport, .digest(user: "u", password: "wrong"))

    let error = await #expect(throws: HTTPError.self) { try await client.get("/") }

    #expect(error?.kind == .status && error?.message == "401 Unauthorized" + expected)
  }

  @Test(
    arguments: [
      nil, .password(user: "u", password: "wrong"), .basic(user: "u", password: "wrong"),
    ] as [CredentialAuthenticator?]) func `the error does not mention Digest if Basic could be answered`(
      authenticator: CredentialAuthenticator?
    ) async throws
  {
    let transport = AuthServer.accepting(challenge: #"Digest realm="r", nonce="n", qop="auth-int", Basic realm="r""#)
    let client = Self.client(transport, authenticator)

    let error = await #expect(throws: HTTPError.self) { try await client.get("/") }

    #expect(error?.message == "401 Unauthorized")
  }
}
