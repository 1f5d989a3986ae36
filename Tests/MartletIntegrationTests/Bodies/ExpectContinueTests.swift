#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import MartletBase
  @testable import Martlet

  /// `Expect: 100-continue` (RFC 9110 §10.1.1).
  @Suite(.hangLimit) struct ExpectContinueTests {
    private static let large = HTTPBody.data(Data(count: (1 << 20) + 1))

    private static func expectations(_ server: MockServer) -> [String?] {
      server.requests.map { $0.header("Expect")?.lowercased() }
    }

    @Test(arguments: Lane.engines)
    func `Expect is sent by default only for large bodies of known length`(lane: Lane) async throws {
      let server = try MockServer(.ok())
      defer { server.stop() }
      let client = lane.client()
      let bodies: [HTTPBody] = [
        Self.large, .data(Data(count: 1 << 20)), .stream(UploadPieces(Data(count: 100_000), count: 20)),
        .stream(UploadPieces(Data(count: 100_000), count: 20), length: 2_000_000),
        .multipart { $0.add(Data(count: 2 << 20), for: "n") },
      ]

      for body in bodies { _ = try await client.post(RequestTarget(server.url), body: body) }

      // If a request had timed out waiting for `100 Continue`, the next one would not have `Expect`.
      #expect(Self.expectations(server) == ["100-continue", nil, nil, "100-continue", "100-continue"])
      #expect(server.requests.allSatisfy { $0.isComplete && $0.bodyLength >= 1 << 20 })
    }

    @Test(arguments: Lane.engines)
    func `expectsContinue can be set per client and request, and is ignored without a body`(lane: Lane) async throws {
      let server = try MockServer(.ok())
      defer { server.stop() }
      let client = lane.client { $0.options.expectsContinue = true }
      let pieces = HTTPBody.stream(UploadPieces(Data(count: 10), count: 2))

      _ = try await client.post(RequestTarget(server.url), body: .text("small"))
      _ = try await client.post(RequestTarget(server.url), body: pieces)
      _ = try await client.post(RequestTarget(server.url), body: Self.large, options: .expectsContinue(false))
      _ = try await client.post(RequestTarget(server.url))
      _ = try await client.get(RequestTarget(server.url))

      #expect(Self.expectations(server) == ["100-continue", "100-continue", nil, nil, nil])
      #expect(server.requests.map(\.bodyLength) == [5, 20, (1 << 20) + 1, 0, 0])
    }

    @Test(arguments: Lane.engines)
    func `a final response arrives before any byte of the body is sent`(lane: Lane) async throws {
      let options = MockServer.Options(sendsContinue: false, earlyAnswer: { _ in .status(403, body: "no") })
      let server = try MockServer(.ok(), options: options)
      defer { server.stop() }
      let body = HTTPBody.stream(UploadPieces(Data(count: 100_000), count: 20), length: 2_000_000)

      let response = try await lane.client().post(RequestTarget(server.url), body: body)

      #expect(response.status == 403 && response.text == "no")
      #expect(await server.waitForOpenConnections(atMost: 0))
      #expect(server.requests.map(\.bodyLength) == [0])
      // No part of the body was read, so it can still be sent.
      #expect(body.isUsable)
    }

    @Test(arguments: Lane.engines)
    func `waits only once for a server that never sends 100 Continue`(lane: Lane) async throws {
      let server = try MockServer(.ok(), options: .init(sendsContinue: false))
      let other = try MockServer(.ok())
      defer {
        server.stop()
        other.stop()
      }
      let client = lane.client()
      let start = ContinuousClock.now
      _ = try await client.post(RequestTarget(server.url), body: Self.large)
      #expect(ContinuousClock.now - start >= .milliseconds(900))
      for _ in 0..<2 { _ = try await client.post(RequestTarget(server.url), body: Self.large) }
      _ = try await client.post(RequestTarget(other.url), body: Self.large)
      // A caller can still set `expectsContinue` explicitly.
      _ = try await client.post(RequestTarget(server.url), body: .text("x"), options: .expectsContinue(true))

      #expect(Self.expectations(server) == ["100-continue", nil, nil, "100-continue"])
      #expect(Self.expectations(other) == ["100-continue"])
      #expect(server.requests.allSatisfy { $0.isComplete })
    }

    @Test(.needs(.reportedRequests), arguments: Lane.engines)
    func `repeats the request without Expect after a 417`(lane: Lane) async throws {
      let options = MockServer.Options(
        sendsContinue: false, earlyAnswer: { $0.header("Expect") == nil ? nil : .status(417, body: "do not ask") })
      let server = try MockServer(options: options, answering: MockResponse.echo)
      defer { server.stop() }
      let client = lane.client()
      let once = UploadPieces(Data(repeating: 4, count: 100_000), count: 20)

      let first = try await client.post(RequestTarget(server.url), body: .stream(once, length: 2_000_000))
      let second = try await client.post(RequestTarget(server.url), body: Self.large)
      let third = try await client.post(
        RequestTarget(server.url), body: .text("x"), options: .expectsContinue(true))

      #expect(first.status == .ok && first.body == Data(repeating: 4, count: 2_000_000))
      #expect(first.attempts.count <= 1)
      #expect(second.status == .ok && third.text == "x")
      #expect(Self.expectations(server) == ["100-continue", nil, nil, "100-continue", nil])
      #expect(client.activity.current.totals.failed == 0)
    }

    @Test(arguments: Lane.engines)
    func `abandons a 417 with an endless body and closes its connection`(lane: Lane) async throws {
      let endless = MockResponse.steps([
        .text("HTTP/1.1 417 No\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), .waitForClose,
      ])
      let options = MockServer.Options(
        sendsContinue: false, earlyAnswer: { $0.header("Expect") == nil ? nil : endless })
      let server = try MockServer(options: options, answering: MockResponse.echo)
      defer { server.stop() }
      let client = lane.client()

      let response = try await client.post(
        RequestTarget(server.url), body: .text("x"), options: .expectsContinue(true))

      #expect(response.text == "x")
      #expect(await becomes { server.openConnections <= 1 })
    }

    @Test(arguments: Lane.engines)
    func `a caller's own Expect field takes precedence, and its 417 is returned`(lane: Lane) async throws {
      let options = MockServer.Options(
        sendsContinue: false, earlyAnswer: { $0.header("Expect") == nil ? nil : .status(417, body: "do not ask") })
      let server = try MockServer(.ok(), options: options)
      defer { server.stop() }

      let response = try await lane.client().post(
        RequestTarget(server.url), headers: ["Expect": "100-continue"], body: Self.large)

      #expect(response.status == 417)
      #expect(server.requests.count == 1)
    }

    @Test(arguments: Lane.engines)
    func `Expect is not sent if the wait could exceed the idle limit`(lane: Lane) async throws {
      let server = try MockServer(.ok(), options: .init(sendsContinue: false))
      defer { server.stop() }

      // The clock never advances, so a slow machine cannot exceed the limit.
      let client = lane.client { $0.clock = TestClock(advancing: .manually) }

      let response = try await client.post(
        RequestTarget(server.url), body: Self.large, options: .timeout(idle: .milliseconds(1900)))

      #expect(response.status == .ok)
      #expect(Self.expectations(server) == [nil])
    }

    @Test func `remembers a bounded number of servers`() throws {
      let expectations = CurlExpectations()

      for port in 0..<(CurlExpectations.maximumOrigins * 3) {
        expectations.record(Origin(scheme: "http", host: "a.test", port: port))
      }

      #expect(expectations.count == CurlExpectations.maximumOrigins)
    }
  }
#endif
