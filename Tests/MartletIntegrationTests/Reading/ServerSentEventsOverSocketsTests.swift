#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  @Suite(.hangLimit) struct ServerSentEventsOverSocketsTests {
    private static let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

    private static func chunk(_ text: String) -> MockResponse.Step {
      .text("\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n")
    }

    private static func event(_ number: Int) -> String { "id: \(number)\ndata: event \(number)\n\n" }

    @Test(arguments: Lane.engines, [MockResponse.Step.cut, .reset, .text("0\r\n\r\n")])
    func `reconnects after each lost connection and delivers every event once, in order`(
      lane: Lane, end: MockResponse.Step
    ) async throws {
      let last = 40
      let server = try MockServer(answering: { request in
        let done = Int(request.header("Last-Event-ID") ?? "0") ?? -1
        guard done < last else { return .empty(204) }
        let steps = [.text(Self.head + "b\r\nretry: 1\n\n\n\r\n"), Self.chunk(Self.event(done + 1))]
        // The start of a third event is lost with the connection.
        let rest = [
          Self.chunk(Self.event(done + 2)), Self.chunk("id: \(done + 3)\ndata: ev"), .delay(.milliseconds(5)),
        ]
        return .steps(steps + rest + [end])
      })
      defer { server.stop() }

      var ids: [String] = []
      var settings = ServerSentEvents.Options()
      settings.minimumDelay = .zero
      for try await event in lane.client().serverSentEvents(.get("\(raw: server.url)/events"), options: settings) {
        #expect(event.data == "event \(event.id)")
        ids.append(event.id)
      }

      #expect(ids == (1...last).map(String.init))
      // Events that were not read before a reset are lost and requested again.
      if case .reset = end {
        #expect(server.requests.count > last / 2)
      } else {
        #expect(server.requests.count == last / 2 + 1)
      }
    }

    @Test(arguments: Lane.engines) func `leaving the loop closes the connection`(lane: Lane) async throws {
      let server = try MockServer(.steps([.text(Self.head), Self.chunk(Self.event(1)), .hang]))
      defer { server.stop() }
      let client = lane.client()

      for try await event in client.serverSentEvents(.get("\(raw: server.url)")) where event.id == "1" { break }

      #expect(await server.wait { $0.disconnects == 1 && $0.openConnections == 0 })
      await client.waitUntilEmpty()
    }

    @Test(arguments: Lane.engines) func `cancellation ends the reading of a refused response`(lane: Lane) async throws {
      // Bytes arrive now and then, so no timeout of the client expires.
      let slow = MockResponse.Step.drip(Data(count: 1_000), chunk: 1, every: .milliseconds(100))
      let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n"
      let server = try MockServer(.steps([.text(head), slow]))
      defer { server.stop() }
      // The clock never advances, so the limit for reading does not expire either.
      let client = lane.client { $0.clock = TestClock(advancing: .manually) }
      let reader = Task { for try await _ in client.serverSentEvents(.get("\(raw: server.url)")) {} }
      _ = await server.waitForRequests(1)
      #expect(await becomes { client.activity.current.totals.bytesReceived > 0 })

      reader.cancel()

      await #expect(throws: CancellationError.self) { try await reader.value }
      #expect(await server.wait { $0.openConnections == 0 })
      await client.waitUntilEmpty()
    }

    @Test(arguments: Lane.engines) func `releasing the iterator closes the connection`(lane: Lane) async throws {
      let server = try MockServer(.steps([.text(Self.head), Self.chunk(Self.event(1)), .hang]))
      defer { server.stop() }
      let client = lane.client()

      var events: ServerSentEvents.AsyncIterator? = client.serverSentEvents(.get("\(raw: server.url)"))
        .makeAsyncIterator()
      #expect(try await events?.next()?.id == "1")
      #expect(server.openConnections == 1)
      events = nil

      #expect(await server.wait { $0.disconnects == 1 && $0.openConnections == 0 })
    }

    @Test(arguments: Lane.engines) func `cancelling the task closes the connection`(lane: Lane) async throws {
      let server = try MockServer(.steps([.text(Self.head), Self.chunk(Self.event(1)), .hang]))
      defer { server.stop() }
      let client = lane.client()
      let seen = Shared(0)
      let reader = Task {
        for try await _ in client.serverSentEvents(.get("\(raw: server.url)")) { seen.withLock { $0 += 1 } }
      }

      await seen.wait { $0 == 1 }
      reader.cancel()

      await #expect(throws: CancellationError.self) { try await reader.value }
      #expect(await server.wait { $0.disconnects == 1 && $0.openConnections == 0 })
    }

    @Test(arguments: Lane.engines) func `cancelling the task ends the wait for the head`(lane: Lane) async throws {
      let server = try MockServer(.hang)
      defer { server.stop() }
      let client = lane.client()
      let reader = Task { for try await _ in client.serverSentEvents(.get("\(raw: server.url)")) {} }

      #expect(await server.waitForRequests(1))
      reader.cancel()

      await #expect(throws: CancellationError.self) { try await reader.value }
      #expect(await server.wait { $0.disconnects == 1 })
    }

    @Test(arguments: Lane.engines) func `reconnects if no data arrives within the idle limit`(lane: Lane)
      async throws
    {
      let server = try MockServer(answering: { request in
        if request.header("Last-Event-ID") == "1" { return .empty(204) }
        return .steps([.text(Self.head), Self.chunk("retry: 1\n" + Self.event(1)), .hang])
      })
      defer { server.stop() }

      // The clock advances only on demand, and between two connections.
      let clock = TestClock()
      let client = lane.client { $0.clock = clock }
      var count = 0
      var silence: Task<Void, Never>?
      let options = RequestOptions.timeout(TimeoutPolicy(idle: .seconds(600), total: nil))
      for try await _ in client.serverSentEvents(.get("\(raw: server.url)"), options: .init { $0.request = options }) {
        count += 1
        let first = client.activity.current.running.first?.id
        silence = Task {
          // One advance suffices unless the idle limit restarts at that moment. The second request must never time out.
          while !Task.isCancelled, client.activity.current.running.first?.id == first, server.requests.count == 1 {
            clock.advance(by: .seconds(700))
            if await server.wait(timeout: .milliseconds(500), until: { $0.disconnects == 1 }) { return }
          }
        }
      }
      silence?.cancel()

      #expect(count == 1)
      #expect(server.requests.count == 2)
      #expect(await server.wait { $0.disconnects == 1 })
    }

    @Test(arguments: Lane.engines) func `a slow reader keeps the connection open and receives every event`(lane: Lane)
      async throws
    {
      let event = Data("data: \(String(repeating: "x", count: 60_000))\n\n".utf8)
      let server = try MockServer(
        .steps([
          .text("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"), .repeating(event, count: 300), .cut,
        ]))
      defer { server.stop() }

      var events = lane.client().serverSentEvents(.get("\(raw: server.url)"), options: .init { $0.reconnect = .never })
        .makeAsyncIterator()
      _ = try await events.next()
      // The body has 18 MB, only part of which fits into the buffers of the system and the engine.
      try await Task.sleep(for: .milliseconds(300))
      #expect(server.openConnections == 1)
      var count = 1
      while try await events.next() != nil { count += 1 }

      #expect(count == 300)
    }

    @Test(arguments: Lane.engines) func `sends a POST body and reads the events of the response`(lane: Lane)
      async throws
    {
      let server = try MockServer(answering: { request in
        .steps([.text(Self.head), Self.chunk("data: \(request.text)\n\n"), .text("0\r\n\r\n")])
      })
      defer { server.stop() }

      var texts: [String] = []
      let request = HTTPRequest.post("\(raw: server.url)", body: .text("why"))
      for try await event in lane.client().serverSentEvents(request) { texts.append(event.data) }

      #expect(texts == ["why"])
      #expect(server.requests.first?.header("Accept") == "text/event-stream")
    }

    @Test(arguments: Lane.engines) func `splits lines at line ends, regardless of chunk boundaries`(lane: Lane)
      async throws
    {
      let text = Data("ä€\u{1F600}\r\nzwei\rdrei\n".utf8)
      let chunks = text.map { Data([$0]) }
      let message = MockResponse.Message(status: 200, body: .chunks(chunks, trailers: []))
      let server = try MockServer(MockResponse(steps: [.message(message)]))
      defer { server.stop() }

      let lines = try await lane.client().stream(.get("\(raw: server.url)")) { response in
        var lines: [String] = []
        for try await line in response.lines { lines.append(line) }
        return lines
      }

      #expect(lines == ["ä€\u{1F600}", "zwei", "drei"])
    }

    @Test(arguments: Lane.engines) func `leaving the loop over lines closes the connection`(lane: Lane) async throws {
      let server = try MockServer(.steps([.text(Self.head), Self.chunk("one\ntwo\n"), .hang]))
      defer { server.stop() }

      let first = try await lane.client().stream(.get("\(raw: server.url)")) { response in
        for try await line in response.lines { return line }
        return ""
      }

      #expect(first == "one")
      #expect(await server.wait { $0.disconnects == 1 && $0.openConnections == 0 })
    }
  }
#endif
