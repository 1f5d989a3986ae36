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

  @Test func `reads members of a JSON value`() {
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

  // MARK: The article on JSON

  @Test func `sets the coding strategies of a client`() async throws {
    let transport = StubTransport { _ in .json(#"{"order_number": 7, "placed_at": "2026-11-24T08:00:00Z"}"#) }

    let client = HTTPClient {
      $0.baseURL = "https://api.example.com"
      $0.headers["Accept"] = "application/json"
      $0.encoder.keyEncodingStrategy = .convertToSnakeCase
      $0.encoder.dateEncodingStrategy = .iso8601
      $0.decoder.keyDecodingStrategy = .convertFromSnakeCase
      $0.decoder.dateDecodingStrategy = .iso8601
    }
    await client.update { $0.transport = transport }
    let order = try await client.get("/orders/7", as: Order.self)
    let stored = try await client.post("/orders", body: .json(order), as: Order.self)

    #expect(order.placedAt == Date(timeIntervalSince1970: 1_795_507_200))
    #expect(stored.orderNumber == 7)
    let sent = try #require(await transport.requests.last?.bodyData())
    let names: JSONValue = ["order_number": 7, "placed_at": "2026-11-24T08:00:00Z"]
    #expect(try JSONDecoder().decode(JSONValue.self, from: sent) == names)
  }

  @Test func `encodes one body with another encoder`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = Self.client(transport)
    let order = Order(orderNumber: 7, placedAt: Date(timeIntervalSinceReferenceDate: 0))

    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    try await client.post("/signed", body: .json(order, encoder: encoder))

    let sent = try #require(await transport.requests.first?.bodyData())
    #expect(String(decoding: sent, as: UTF8.self) == #"{"orderNumber":7,"placedAt":0}"#)
  }

  /// Prints the details of an API's error.
  private func report(_ order: Order, _ client: HTTPClient) async throws {
    do {
      try await client.post("/orders", body: .json(order))
    } catch let error as HTTPError where error.kind == .status {
      if let details = error.problemDetails {
        print(details.title ?? details.type, details.detail ?? "")
      } else if let problem = error.decoded(as: Problem.self) {
        print(problem.title)
      }
    }
  }

  @Test(arguments: ["application/json", "application/problem+json"])
  func `reads the errors of an API`(type: String) async throws {
    let transport = StubTransport { _ in
      .json(#"{"title": "No credit"}"#, status: 403, headers: ["Content-Type": type])
    }
    let client = Self.client(transport)

    try await report(Order(orderNumber: 7, placedAt: Date(timeIntervalSince1970: 0)), client)
    let error = try await #require(throws: HTTPError.self) { try await client.get("/orders") }

    #expect(error.decoded(as: Problem.self)?.title == "No credit")
    #expect((error.problemDetails == nil) == (type == "application/json"))
    #expect(transport.requests.count == 2)
  }

  @Test func `reads JSON Lines from a returned response`() async throws {
    let client = Self.client(.text("{\"price\":1}\n{\"price\":2}\n"))

    var total = 0
    let response = try await client.stream("/sales.ndjson")
    for try await sale in response.jsonLines(as: Sale.self) { total += sale.price }

    #expect(total == 3)
  }

  @Test func `decodes the JSON of server-sent events`() async throws {
    let words = StubResponse.text(
      "data: {\"text\":\"a\"}\n\n", headers: ["Content-Type": "text/event-stream"])
    let transport = StubTransport(script: [words, .status(.noContent)])
    let client = Self.client(transport)

    for try await event in client.serverSentEvents("/words") { print(try event.json(Word.self).text) }

    #expect(transport.requests.count == 2)
  }

  @Test func `sends a GraphQL query`() async throws {
    let transport = StubTransport { _ in
      .json(#"{"data": {"account": {"name": "Ada"}}, "errors": [{"message": "slow"}]}"#)
    }
    let client = Self.client(transport)

    let query = "query($id: ID!) { account(id: $id) { name } }"
    let answer = try await client.post(
      "/graphql", body: .json(["query": .string(query), "variables": ["id": "7"]]), as: GraphQLAnswer<Accounts>.self)
    print(answer.data?.account?.name ?? "no account", answer.errors?.first?["message"].string ?? "no error")

    #expect(answer.data?.account?.name == "Ada")
    #expect(answer.errors?.first?["message"].string == "slow")
    let sent = try #require(await transport.requests.first?.bodyData())
    #expect(try JSONDecoder().decode(JSONValue.self, from: sent)["variables"]["id"].string == "7")
  }

  private func greetUser(_ client: HTTPClient) async throws {
    do {
      let user = try await client.get("/users/7", as: User.self)
      print(user.name)
    } catch let error as HTTPError where error.kind == .decoding {
      print(error.message, error.response?.status.rawValue ?? 0)
    }
  }

  @Test(arguments: [
    ("", "the body cannot be decoded as User: it is empty"),
    ("<html>", "it is HTML or XML, such as a proxy or sign-in page"),
    (#"{"id": 1}"#, "no value for 'name' at the top level"),
    (#"{"id": "1", "name": "Ada"}"#, "expected Int at .id"),
    (#"{"id": null, "name": "Ada"}"#, "expected Int at .id, found null"),
    ("{", "malformed: expected the name of a member, at byte 1"),
  ]) func `describes why a body cannot be decoded`(body: String, message: String) async throws {
    let client = Self.client(.json(body))

    try await greetUser(client)
    let error = try await #require(throws: HTTPError.self) { try await client.get("/users/7", as: User.self) }

    #expect(error.kind == .decoding)
    #expect(error.message.hasSuffix(message), "\(error)")
  }

  @Test func `refuses to encode NaN`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = Self.client(transport)

    let error = await #expect(throws: HTTPError.self) {
      try await client.post("/prices", body: .json(["price": Double.nan]))
    }

    #expect(error?.kind == .invalidRequest)
    let reason = "a value of type Double at .price, which is NaN or infinite: JSON has no such number (RFC 8259 §6)"
    #expect(error?.message.hasSuffix(reason) == true)
    #expect(transport.requests.isEmpty)
  }

  @Test func `follows Link fields from page to page`() async throws {
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

// At the top level and for no actor, because these files are compiled with both defaults.

private nonisolated struct Order: Codable, Sendable {
  var orderNumber: Int
  var placedAt: Date
}

private nonisolated struct GraphQLAnswer<Value: Decodable & Sendable>: Decodable, Sendable {
  var data: Value?
  var errors: [JSONValue]?
}

private nonisolated struct Account: Decodable, Sendable { var name: String }

private nonisolated struct Accounts: Decodable, Sendable { var account: Account? }
