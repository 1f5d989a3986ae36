import Foundation
import Martlet
import MartletTesting
import Testing

/// Samples from the article on misbehaving servers. Only these samples use sockets, on the loopback address.
extension SamplesTests {
  @Test func `retries a request whose connection breaks`() async throws {
    let server = try MockServer(connectionScripts: [
      [.ok("hello").thenCut()],
      [.ok("hello")],
    ])
    let client = HTTPClient { $0.retry = .backoff() }

    let response = try await client.get(RequestTarget(server.url))

    #expect(response.text == "hello")
    #expect(response.attempts.count == 2)
    #expect(server.connectionCount == 2)
  }

  @Test func `plays a response step by step`() async throws {
    let client = HTTPClient()

    let slow = MockResponse.steps([
      .text("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"),
      .delay(.milliseconds(20)),
      .drip(Data("hello".utf8), chunk: 1, every: .milliseconds(5)),
      .cut,
    ])
    let server = try MockServer(slow)

    let error = await #expect(throws: HTTPError.self) { try await client.get(RequestTarget(server.url)) }

    #expect(error?.kind == .connectionLost)
  }

  @Test func `sends a malformed response`() async throws {
    let client = HTTPClient()

    let server = try MockServer(.raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc"))

    let error = await #expect(throws: HTTPError.self) { try await client.get(RequestTarget(server.url)) }

    #expect(error?.kind == .protocolViolation)
  }

  @Test func `a request to a silent server times out`() async throws {
    let client = HTTPClient()

    let server = try MockServer(.hang)

    let error = await #expect(throws: HTTPError.self) {
      try await client.get(RequestTarget(server.url), options: .timeout(idle: .milliseconds(100)))
    }

    #expect(error?.kind == .timedOut && error?.phase == .waiting)
    #expect(await server.wait { $0.disconnects == 1 })
  }

  @Test func `resets the first connection`() async throws {
    let client = HTTPClient()

    let options = MockServer.Options(onConnect: { $0 == 0 ? .resetAtOnce : .serve })
    let server = try MockServer(.ok("hello"), options: options)

    let response = try await client.get(RequestTarget(server.url), options: .retry(.backoff()))

    #expect(response.text == "hello")
    #expect(server.connectionCount == 2)
  }

  #if os(Linux)
    @Test func `reports hosts that do not accept connections`() async throws {
      let client = HTTPClient()

      let hole = try BlackHole()
      let unanswered = await #expect(throws: HTTPError.self) {
        try await client.get(RequestTarget(hole.url), options: .timeout(connect: .milliseconds(100)))
      }
      let port = try MockServer.refusedPort()
      let refused = await #expect(throws: HTTPError.self) { try await client.get("http://127.0.0.1:\(port)/") }

      #expect(unanswered?.kind == .timedOut && unanswered?.phase == .connecting)
      #expect(refused?.kind == .cannotConnect)
    }
  #endif

  @Test func `skips the Retry-After delay with a test clock`() async throws {
    let clock = TestClock()
    let client = HTTPClient {
      $0.clock = clock
      $0.retry = .backoff()
    }
    let server = try MockServer(script: [.status(503, headers: ["Retry-After": "30"]), .ok("hello")])

    let response = try await client.get(RequestTarget(server.url))

    #expect(response.text == "hello")
    #expect(clock.sleeps == [.seconds(30)])
  }
}
