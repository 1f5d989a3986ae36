import Foundation
import Martlet
import MartletTesting
import Testing

@Suite struct ProblemDetailsTests {
  private static func error(_ body: String, _ type: String = "application/problem+json") async throws -> HTTPError {
    let client = HTTPClient {
      $0.transport = StubTransport { _ in
        .status(422, headers: ["Content-Type": type], body: Data(body.utf8))
      }
    }
    return try #require(
      await #expect(throws: HTTPError.self) { try await client.get("http://example.test/orders/7") })
  }

  @Test func `parses standard and extension members`() async throws {
    let error = try await Self.error(
      """
      {"type": "https://example.test/credit", "title": "No credit", "status": 403, "detail": "30 of 50",
       "instance": "/account/12", "balance": 30, "accounts": ["/1", "/2"]}
      """)

    let details = try #require(error.problemDetails)
    #expect(details.type == "https://example.test/credit")
    #expect(details.title == "No credit")
    #expect(details.status == 403)
    #expect(details.detail == "30 of 50")
    #expect(details.instance == "/account/12")
    #expect(details.members["balance"]?.int == 30)
    #expect(details.members["accounts"]?[1].string == "/2")
  }

  @Test func `ignores members of the wrong type`() async throws {
    let details = try #require(try await Self.error(#"{"type": 7, "title": null, "status": "x"}"#).problemDetails)

    #expect(details.type == "about:blank")
    #expect(details.title == nil && details.status == nil)
  }

  @Test func `is nil for other bodies`() async throws {
    #expect(try await Self.error("{}", "application/json").problemDetails == nil)
    #expect(try await Self.error("[]").problemDetails == nil)
    #expect(try await Self.error("").problemDetails == nil)
    #expect(HTTPError(.timedOut, "x").problemDetails == nil)
    #expect(try await Self.error("{}", "Application/Problem+JSON; charset=utf-8").problemDetails != nil)
  }

  /// Foundation's decoder would take minutes and could not be cancelled.
  @Test func `is nil for a hostile body`() async throws {
    let nested = String(repeating: "[", count: 511) + String(repeating: "\"\",", count: 21_000)

    #expect(try await Self.error(nested).problemDetails == nil)
    #expect(try await Self.error("{\"a\": \(nested)").problemDetails == nil)
  }
}
