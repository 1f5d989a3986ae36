import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// A credential that a server has neither accepted nor rejected is sent with the next attempt of its call.
@Suite(.hangLimit) struct PendingCredentialTests {
  private static let settings: ClientSetting = [.retry(.backoff(attempts: 3)), .accepts(.any)]

  @Test(arguments: ["503", "lost"]) func `survives a failed attempt`(failure: String) async throws {
    let failures = Shared(0)
    let asked = Shared(0)
    let transport = StubTransport { request in
      guard request.headers["Authorization"] != nil else { return AuthServer.refusal(#"Basic realm="r""#) }
      let isFirst = failures.withLock {
        $0 += 1
        return $0 == 1
      }
      guard isFirst else { return .text("in") }
      if failure == "lost" { throw HTTPError(.connectionLost, "lost") }
      return .status(503)
    }
    let client = HTTPClient.stubbed(
      transport, Self.settings,
      .authenticator(
        .ask { _ in
          asked.withLock { $0 += 1 }
          return .user("u", password: "p")
        }))

    let response = try await client.put("/", body: .text("large"))

    let known = AuthServer.basic("u", "p")
    #expect(response.text == "in")
    #expect(transport.authorizations == [nil, known, known])
    #expect(asked.value == 1)
  }

  @Test func `belongs to its call`() async throws {
    let transport = StubTransport { request in
      request.headers["Authorization"] == nil ? AuthServer.refusal(#"Basic realm="r""#) : .status(503)
    }
    let client = HTTPClient.stubbed(transport, Self.settings, .authenticator(.basic(user: "u", password: "p")))

    try await client.get("/1", options: .retry(.off))
    try await client.get("/2", options: .retry(.off))

    let known = AuthServer.basic("u", "p")
    #expect(transport.authorizations == [nil, known, nil, known])
  }

  @Test func `is forgotten when it is rejected`() async throws {
    let script: [StubResponse] = [
      AuthServer.refusal(#"Basic realm="r""#), .status(503), AuthServer.refusal(#"Basic realm="r""#), .text("in"),
    ]
    let transport = StubTransport(script: script)
    let client = HTTPClient.stubbed(
      transport, Self.settings,
      .authenticator(.ask { challenge in .user("u", password: "\(challenge.previousFailures)") }))

    let response = try await client.get("/")

    #expect(response.text == "in")
    #expect(
      transport.authorizations == [
        nil, AuthServer.basic("u", "0"), AuthServer.basic("u", "0"), AuthServer.basic("u", "1"),
      ])
  }

  @Test func `counts the uses of a Digest nonce across attempts and credentials`() async throws {
    let counts = Log<String>()
    let requests = Shared(0)
    let transport = StubTransport { request in
      let isIn = AuthServer.checkDigest(request, user: "u", password: "right", nonce: "n", counts: counts)
      let number = requests.withLock {
        $0 += 1
        return $0
      }
      if isIn, number == 3 { return .status(503) }
      return isIn ? .text("in") : AuthServer.refusal(AuthServer.digest(nonce: "n"))
    }
    let client = HTTPClient.stubbed(
      transport, Self.settings,
      .authenticator(.ask { challenge in .user("u", password: challenge.previousFailures == 0 ? "wrong" : "right") }))

    let response = try await client.get("/")

    #expect(response.text == "in")
    #expect(counts.elements == ["n 00000001", "n 00000002", "n 00000003"])
  }
}
