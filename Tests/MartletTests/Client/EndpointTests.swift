import Dispatch
import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

@Suite(.hangLimit) struct EndpointTests {
  // MARK: Requests

  // W1, W2, W14
  @Test func `an endpoint with only an output and a target sends a GET`() async throws {
    let transport = StubTransport { _ in .json(#"{"id":7}"#) }

    let user = try await HTTPClient.stubbed(transport).send(Forge.GetUser())

    #expect(user == Forge.User(id: 7))
    #expect(transport.requests.map(\.method) == [.get])
    #expect(transport.requests.first?.url?.absoluteString == "http://example.test/user")
    #expect(transport.requests.first?.body == nil)
  }

  // W3, W5
  @Test func `sends the endpoint's method, query and header fields`() async throws {
    struct Find: Endpoint {
      typealias Output = String
      var target: RequestTarget { "/dav" }
      var method: HTTPMethod { "PROPFIND" }
      var query: Query { ["depth": "1 + 1"] }
      var headers: HTTPHeaders { ["Depth": "1", "Accept": "text/xml"] }
    }
    let transport = StubTransport { _ in .text("found") }

    let text = try await HTTPClient.stubbed(transport) { $0.headers["Accept"] = "*/*" }.send(Find())

    let request = try #require(transport.requests.first)
    #expect(text == "found")
    #expect(request.method.rawValue == "PROPFIND")
    #expect(request.url?.query(percentEncoded: true) == "depth=1%20%2B%201")
    #expect(request.headers["Depth"] == "1")
    #expect(request.headers[all: "Accept"] == ["text/xml"])
  }

  // W4
  @Test func `prepare overrides the method and the header fields`() async throws {
    struct Signed: Endpoint {
      typealias Output = String
      var target: RequestTarget { "/signed" }
      var headers: HTTPHeaders { ["X-A": "headers"] }
      var body: HTTPBody? { .text("body") }
      func prepare(_ request: inout HTTPRequest) {
        request.headers["X-Seen"] = "\(request.headers["X-A"] ?? "") \(request.body?.length ?? 0)"
        request.headers["X-A"] = "prepare"
        request.method = .put
      }
    }
    let transport = StubTransport { _ in .text("") }

    _ = try await HTTPClient.stubbed(transport).send(Signed())

    let request = try #require(transport.requests.first)
    #expect(request.method == .put)
    #expect(request.headers["X-A"] == "prepare")
    #expect(request.headers["X-Seen"] == "headers 4")
  }

  // W6
  @Test(arguments: ["POST", "PUT", "PATCH", "DELETE", "GET", "REPORT"])
  func `sends a body with any method and never changes the method`(name: String) async throws {
    struct Send: Endpoint {
      typealias Output = String
      var method: HTTPMethod
      var target: RequestTarget { "/" }
      var body: HTTPBody? { .json(["a": 1]) }
    }
    let transport = StubTransport { _ in .text("") }

    _ = try await HTTPClient.stubbed(transport).send(Send(method: HTTPMethod(rawValue: name)))

    #expect(transport.requests.first?.method.rawValue == name)
    #expect(transport.requests.first?.body == .json(["a": 1]))
    #expect(transport.requests.first?.headers["Content-Type"] == "application/json")
  }

  @Test func `endpoint options override the client's and yield to the call's`() async throws {
    struct Tagged: Endpoint {
      typealias Output = String
      var target: RequestTarget { "/" }
      var options: RequestOptions { .tag("endpoint").accepts(.any) }
    }
    let tags = Log<String?>()
    let transport = StubTransport(withContext: { _, context in
      tags.add(context.options.tag)
      return .text("no", status: 500)
    })
    let client = HTTPClient.stubbed(transport) { $0.options.tag = "client" }

    _ = try await client.send(Tagged())
    let text = try await client.send(Tagged(), options: .tag("call"))

    #expect(tags.elements == ["endpoint", "call"])
    #expect(text == "no")
  }

  // MARK: Responses

  // W7
  @Test func `decodes outputs of type Data, String, Void and HTTPResponse`() async throws {
    struct Bytes: Endpoint {
      typealias Output = Data
      var target: RequestTarget { "/" }
    }
    struct Words: Endpoint {
      typealias Output = String
      var target: RequestTarget { "/" }
    }
    struct Nothing: Endpoint {
      typealias Output = Void
      var target: RequestTarget { "/" }
    }
    struct Everything: Endpoint {
      typealias Output = HTTPResponse
      var target: RequestTarget { "/" }
    }
    let client = HTTPClient.stubbed(StubTransport { _ in .text(#""é""#, status: 201) })

    #expect(try await client.send(Bytes()) == Data(#""é""#.utf8))
    #expect(try await client.send(Words()) == #""é""#)
    try await client.send(Nothing())
    #expect(try await client.send(Everything()).status == 201)
    #expect(try await client.start(Everything()).value.text == #""é""#)
  }

  // W7: parsing must not block the caller's actor.
  @MainActor @Test func `decodes off the main actor`() async throws {
    struct Watched: Endpoint {
      typealias Output = String
      let mainQueue: DispatchSpecificKey<Bool>
      let isOnMainQueue: Log<Bool>
      var target: RequestTarget { "/" }
      func validate(_ response: HTTPResponse) throws { look() }
      func decode(_ response: HTTPResponse) throws -> String {
        look()
        return response.text
      }

      /// Records whether this code runs on the main queue, which only the main actor uses.
      func look() { isOnMainQueue.add(DispatchQueue.getSpecific(key: mainQueue) == true) }
    }
    let log = Log<Bool>()
    let client = HTTPClient.stubbed(StubTransport { _ in .text("x") })

    let mainQueue = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: mainQueue, value: true)
    let endpoint = Watched(mainQueue: mainQueue, isOnMainQueue: log)

    endpoint.look()
    _ = try await client.send(endpoint)
    _ = try await client.start(endpoint).value
    _ = try await client.sendAll([endpoint])
    for await _ in client.results([endpoint]) {}

    #expect(log.elements == [true] + Array(repeating: false, count: 8))
  }

  struct Dated: Endpoint {
    struct Event: Codable, Equatable, Sendable { var date: Date }

    typealias Output = Event
    var hasDecoder: Bool
    var target: RequestTarget { "/event" }
    var decoder: JSONDecoder? { hasDecoder ? Self.decoder(.secondsSince1970) : nil }

    static func decoder(_ strategy: JSONDecoder.DateDecodingStrategy) -> JSONDecoder {
      let decoder = JSONDecoder()
      decoder.dateDecodingStrategy = strategy
      return decoder
    }
  }

  // W15
  @Test func `prefers the endpoint's decoder to the client's`() async throws {
    let client = HTTPClient.stubbed(StubTransport { _ in .json(#"{"date":1000}"#) }) {
      $0.decoder = Dated.decoder(.millisecondsSince1970)
    }

    let ofClient = try await client.send(Dated(hasDecoder: false))
    let ofEndpoint = try await client.send(Dated(hasDecoder: true))

    #expect(ofClient.date == Date(timeIntervalSince1970: 1))
    #expect(ofEndpoint.date == Date(timeIntervalSince1970: 1000))
  }

  // W23
  @Test func `a request keeps its ID across attempts, and retry assigns a new one`() async throws {
    let numbers = Log<RequestID>()
    let transport = StubTransport(withContext: { _, context in
      numbers.add(context.id)
      return numbers.elements.count == 1 ? .status(503) : .text("x")
    })
    let client = HTTPClient.stubbed(transport) {
      $0.retry = .custom { _, outcome in outcome.status == 503 ? .zero : nil }
    }

    let first = client.start(Forge.GetItem())
    _ = try await first.value
    let second = first.retry()
    _ = try await second.value

    #expect(numbers.elements == [first.id, first.id, second.id])
    #expect(first.id != second.id)
    #expect(second.retryOf == first.id)
    #expect(first.retryOf == nil)
  }

  // W22
  @Test func `measures timing with the client's clock`() async throws {
    struct Timed: Endpoint {
      typealias Output = HTTPResponse
      var target: RequestTarget { "/" }
    }
    let clock = TestClock()
    let transport = StubTransport { _ in
      let attempt = clock.sleeps.count + 1
      clock.advance(by: .milliseconds(10 * attempt))
      guard attempt == 2 else { return .status(503) }
      let pieces = Log<Int>()
      return .streamed {
        clock.advance(by: .milliseconds(5))
        pieces.add(1)
        return pieces.elements.count < 3 ? Data("x".utf8) : nil
      }
    }
    let client = HTTPClient.stubbed(transport) {
      $0.clock = clock
      $0.retry = .custom { attempt, _ in attempt < 2 ? .milliseconds(100) : nil }
    }

    let response = try await client.send(Timed())

    #expect(response.timing.total == .milliseconds(145))
    #expect(response.timing.firstByte == .milliseconds(20))
    #expect(response.timing.queued == .zero)
    #expect(response.timing.connect == nil)
    #expect(response.attempts.map(\.number) == [1, 2])
    #expect(response.attempts.map(\.duration) == [.milliseconds(10), .milliseconds(35)])
    #expect(response.attempts.map(\.delay) == [.milliseconds(100), nil])
  }

  // W13
  @Test func `reports progress, with a fraction before the end only if the length is known`() async throws {
    struct Large: Endpoint {
      typealias Output = String
      var length: Int64?
      var target: RequestTarget { "/" }
      var headers: HTTPHeaders { length.map { ["X-Length": "\($0)"] } ?? [:] }
    }
    let known = Log<TransferProgress>()
    let unknown = Log<TransferProgress>()
    let transport = StubTransport(withContext: { request, context in
      let length = request.headers["X-Length"].flatMap { Int64($0) }
      context.didReceive(25, of: length)
      await (length == nil ? unknown : known).wait(for: 1)
      for _ in 0..<3 { context.didReceive(25, of: length) }
      return .text("x")
    })
    let client = HTTPClient.stubbed(transport) { $0.clock = TestClock(advancing: .manually) }

    _ = try await client.send(Large(length: 100), options: .onProgress { known.add($0) })
    _ = try await client.send(Large(), options: .onProgress { unknown.add($0) })

    // Progress within 50 ms is reported together.
    #expect(known.elements.map(\.fraction) == [0.25, 1])
    #expect(unknown.elements.map(\.fraction) == [nil, 1])
    #expect(unknown.elements.map(\.received) == [25, 100])
  }
}
