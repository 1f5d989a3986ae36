import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

/// How endpoints handle responses and errors that they do not accept.
@Suite(.hangLimit) struct EndpointFailureTests {
  struct Refusal: Error, Equatable { var reason: String }

  // W8
  @Test func `a mismatched body throws a decoding error that wraps the DecodingError`() async throws {
    let client = HTTPClient.stubbed(StubTransport { _ in .json(#"{"id":"secret"}"#) })

    let error = try await #require(throws: HTTPError.self) { try await client.send(Forge.GetUser()) }

    #expect(error.kind == .decoding)
    #expect(error.underlying is DecodingError)
    #expect(error.response?.text == #"{"id":"secret"}"#)
    #expect(error.description.contains(".id"))
    #expect(!error.description.contains("secret"))
  }

  // W8
  @Test func `a custom decode that throws a DecodingError fails with kind decoding`() async throws {
    struct Wrapped: Endpoint {
      typealias Output = Int
      var target: RequestTarget { "/user" }
      func decode(_ response: HTTPResponse) throws -> Int {
        try JSONDecoder().decode([String: Int].self, from: response.body)["id"] ?? 0
      }
    }
    let client = HTTPClient.stubbed(StubTransport { _ in .json(#"{"id":"secret"}"#) })

    let error = try await #require(throws: HTTPError.self) { try await client.send(Wrapped()) }
    let managed = try await #require(throws: HTTPError.self) { try await client.start(Wrapped()).value }

    #expect(error.kind == .decoding)
    #expect(error.underlying is DecodingError)
    #expect(error.url?.absoluteString == "http://example.test/user")
    #expect(!error.description.contains("secret"))
    #expect(managed.kind == .decoding)
  }

  @Test func `an error of prepare ends the call before anything is sent`() async throws {
    struct Signed: Endpoint {
      typealias Output = String
      var target: RequestTarget { "/" }
      func prepare(_ request: inout HTTPRequest) throws { throw Refusal(reason: "no key") }
    }
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.stubbed(transport)
    var events = client.events(of: Signed.self).makeAsyncIterator()

    await #expect(throws: Refusal(reason: "no key")) { try await client.send(Signed()) }
    let handle = client.start(Signed())
    await #expect(throws: Refusal(reason: "no key")) { try await handle.value }
    await #expect(throws: Refusal(reason: "no key")) { try await handle.retry().value }
    #expect(throws: Refusal(reason: "no key")) { try Signed().request() }

    #expect(transport.requests.isEmpty)
    for _ in 0..<3 { if case .failed? = await events.next() {} else { Issue.record("no failure was published") } }
  }

  @Test func `a handle contains its request if prepare throws, and its retry refers to it`() async throws {
    struct Signed: Endpoint {
      typealias Output = String
      let calls = Log<Void>()
      var target: RequestTarget { "/a" }
      var query: Query { ["b": "1"] }
      var headers: HTTPHeaders { ["X-C": "2"] }
      func prepare(_ request: inout HTTPRequest) throws {
        calls.add(())
        if calls.count < 3 { throw Refusal(reason: "no key") }
      }
    }
    let client = HTTPClient.stubbed(StubTransport { _ in .text("x") })

    let first = client.start(Signed())
    let second = first.retry()
    let third = second.retry()

    #expect(first.request.query == ["b": "1"] && first.request.headers["X-C"] == "2")
    #expect(first.retryOf == nil && second.retryOf == first.id && third.retryOf == second.id)
    await #expect(throws: Refusal(reason: "no key")) { try await second.value }
    #expect(try await third.value == "x")
  }

  @Test func `a refused retry refers to its request, even in a queue`() async throws {
    let client = HTTPClient.stubbed(StubTransport { _ in .text("x") })
    let handles = [client.start(.get("/")), RequestQueue(client: client).add(.get("/"))]
    for handle in handles { _ = try await handle.value }
    await client.drain()

    let repetitions = handles.map { $0.retry() }

    for repetition in repetitions { await #expect(throws: HTTPError.self) { try await repetition.value } }
    #expect(repetitions.map(\.retryOf) == handles.map(\.id))
  }

  struct Picky: Endpoint {
    typealias Output = String
    var failsInValidate: Bool
    var target: RequestTarget { "/" }
    func validate(_ response: HTTPResponse) throws {
      if failsInValidate { throw Refusal(reason: "validate") }
    }
    func decode(_ response: HTTPResponse) throws -> String { throw Refusal(reason: "decode") }
  }

  // W8, N22
  @Test func `errors thrown by validate and decode pass unchanged`() async throws {
    let client = HTTPClient.stubbed(StubTransport { _ in .json(#"{"ok":false}"#) })

    await #expect(throws: Refusal(reason: "validate")) { try await client.send(Picky(failsInValidate: true)) }
    await #expect(throws: Refusal(reason: "decode")) { try await client.send(Picky(failsInValidate: false)) }
    await #expect(throws: Refusal(reason: "decode")) { try await client.start(Picky(failsInValidate: false)).value }
    #expect(client.activity.current.totals.failed == 3)
  }

  // W9, W10
  @Test func `recover can turn an error into an output`() async throws {
    struct Find: Endpoint {
      typealias Output = Forge.User?
      var target: RequestTarget { "/user" }
      func recover(from error: HTTPError) throws -> Forge.User? {
        guard error.status == .notFound else { throw error }
        return nil
      }
    }
    let client = HTTPClient.stubbed(StubTransport(script: [.status(404), .json(#"{"id":1}"#), .status(500)]))

    let missing = try await client.send(Find())
    let found = try await client.start(Find()).value
    let error = try await #require(throws: HTTPError.self) { try await client.send(Find()) }

    #expect(missing == nil)
    #expect(found == Forge.User(id: 1))
    #expect(error.status == 500)
  }

  // W9
  @Test func `recover can replace an error, and substitute an output for a decoding error`() async throws {
    struct Friendly: Endpoint {
      typealias Output = Forge.User
      var target: RequestTarget { "/user" }
      func recover(from error: HTTPError) throws -> Forge.User {
        if error.kind == .decoding { return Forge.User(id: 0) }
        throw Refusal(reason: error.decoded(as: Forge.Item.self)?.name ?? "\(error.kind)")
      }
    }
    let client = HTTPClient.stubbed(
      StubTransport(script: [
        .json(#"{"name":"too many"}"#, status: 429), .failure(HTTPError(.cannotConnect, "refused")), .text("[]"),
      ]))

    await #expect(throws: Refusal(reason: "too many")) { try await client.send(Friendly()) }
    await #expect(throws: Refusal(reason: "cannotConnect")) { try await client.start(Friendly()).value }
    #expect(try await client.send(Friendly()) == Forge.User(id: 0))
  }

  @Test func `recover also receives errors of requests that were never sent`() async throws {
    struct Broken: Endpoint {
      typealias Output = String
      var target: RequestTarget { "/" }
      var headers: HTTPHeaders { ["X-A": "a\r\nb"] }
      func recover(from error: HTTPError) throws -> String { "\(error.kind)" }
    }
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.stubbed(transport)

    #expect(try await client.send(Broken()) == "invalidRequest")
    #expect(try await client.start(Broken()).value == "invalidRequest")
    #expect(transport.requests.isEmpty)
  }

  // W27
  @Test func `recover is not called for a cancellation`() async throws {
    struct Stubborn: Endpoint {
      typealias Output = String
      let log: Log<String>
      var target: RequestTarget { "/" }
      func recover(from error: HTTPError) throws -> String {
        log.add("\(error.kind)")
        return "recovered"
      }
    }
    let log = Log<String>()
    let client = HTTPClient.stubbed(StubTransport { _ in try await untilCancelled() })
    let awaited = Task { try await client.send(Stubborn(log: log)) }
    let managed = client.start(Stubborn(log: log))
    await client.wait { client.activity.current.running.count == 2 }

    client.cancelAll()

    await #expect(throws: CancellationError.self) { try await awaited.value }
    await #expect(throws: CancellationError.self) { try await managed.value }
    #expect(log.elements.isEmpty)
  }

  // W1
  @Test func `endpoints of one API share header fields, decoding and errors`() async throws {
    let transport = StubTransport { request in
      switch request.url?.path() {
      case "/user": .json(#"{"data":{"id":3}}"#)
      case "/items/a%20b": .json(#"{"data":{"name":"x"}}"#)
      default: .json(#"{"data":{"name":"no"}}"#, status: 422)
      }
    }
    let client = HTTPClient.stubbed(transport)

    let user = try await client.send(SharedUser())
    let item = try await client.send(SharedItem(name: "a b"))

    #expect(user == Forge.User(id: 3))
    #expect(item == Forge.Item(name: "x"))
    #expect(transport.requests.map { $0.headers["X-Api-Version"] } == ["3", "3"])
    await #expect(throws: Refusal(reason: "no")) { try await client.send(SharedItem(name: "c")) }
  }
}

private protocol SharedEndpoint: Endpoint {}

extension SharedEndpoint {
  fileprivate var headers: HTTPHeaders { ["X-Api-Version": "3"] }

  fileprivate func recover(from error: HTTPError) throws -> Output {
    guard let problem = error.decoded(as: Envelope<Forge.Item>.self)?.data else { throw error }
    throw EndpointFailureTests.Refusal(reason: problem.name)
  }
}

extension SharedEndpoint where Output: Decodable {
  fileprivate func decode(_ response: HTTPResponse) throws -> Output {
    try response.json(Envelope<Output>.self).data
  }
}

private struct Envelope<Value: Decodable>: Decodable { var data: Value }

private struct SharedUser: SharedEndpoint {
  typealias Output = Forge.User
  var target: RequestTarget { "/user" }
}

private struct SharedItem: SharedEndpoint {
  typealias Output = Forge.Item
  var name: String
  var target: RequestTarget { "/items/\(name)" }
}
