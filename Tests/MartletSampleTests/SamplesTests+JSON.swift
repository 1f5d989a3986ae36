import Foundation
import Martlet
import MartletTesting
import Testing

extension SamplesTests {
  @Test func `writes and reads JSON of any shape`() async throws {
    let transport = StubTransport { _ in .json(#"{"id": 7, "lines": [{"title": "a book"}]}"#, status: 201) }
    let client = Self.client(transport)
    let title = "book"

    let answer = try await client.post("/orders", body: .json(["item": .string(title), "count": 2, "gift": .null]))
    let order = try answer.json(JSONValue.self)
    print(order["id"].int ?? 0, order["lines"][0]["title"].string ?? "no title")

    #expect(order["lines"][0]["title"].string == "a book")
    let sent = try #require(await transport.requests.first?.bodyData())
    #expect(try JSONDecoder().decode(JSONValue.self, from: sent) == ["item": "book", "count": 2, "gift": .null])
  }

  @Test func `reads members of a value, and null for what is missing`() {
    let order: JSONValue = ["name": "Ada", "age": 36, "tags": ["a", "b"], "boss": .null]
    print(order["name"].string ?? "?", order["tags"][1].string ?? "?")

    #expect(order["tags"][1].string == "b")
  }

  @Test func `reads problem details`() async throws {
    let client = Self.client(
      .status(
        403, headers: ["Content-Type": "application/problem+json"],
        body: Data(#"{"title": "No credit", "balance": 30}"#.utf8)))
    let error = try await #require(throws: HTTPError.self) { try await client.get("/orders") }

    if let details = error.problemDetails {
      print(details.title ?? details.type, details.members["balance"]?.int ?? 0)
    }

    #expect(error.problemDetails?.title == "No credit")
  }

  @Test func `follows links from page to page`() async throws {
    let client = Self.client(
      StubTransport { request in
        request.query["page"] == "2" ? .text("the last") : .text("x", headers: ["Link": "</repos?page=2>; rel=next"])
      })

    var response = try await client.get("/repos")
    for _ in 1...50 {
      guard let next = response.link("next"), next.host() == response.url.host() else { break }
      response = try await client.get(RequestTarget(next))
    }

    #expect(response.text == "the last")
  }
}
