#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// A response held in a variable while its body arrives.
  @Suite(.hangLimit) struct OpenStreamTests {
    private static let pieces: [MockResponse.Step] = [
      .text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), .text("3\r\nabc\r\n"),
    ]

    @Test(arguments: Lane.engines) func `reads the body to its end, and then the trailers`(lane: Lane) async throws {
      let server = try MockServer(.chunked(["abc", "def"], trailers: ["Sum": "7"]))
      defer { server.stop() }
      let client = lane.client()

      let response = try await client.stream("\(raw: server.url)/")
      var text = ""
      for try await piece in response.body { text += String(decoding: piece, as: UTF8.self) }

      #expect(text == "abcdef" && response.status == .ok && response.trailers["Sum"] == "7")
      await client.waitUntilEmpty()
      #expect(client.activity.current.totals.succeeded == 1)
    }

    @Test(arguments: Lane.engines)
    func `a body that has arrived cannot be read after the closure returns`(lane: Lane) async throws {
      let server = try MockServer(.ok("abc"))
      defer { server.stop() }
      let client = lane.client()

      let response = try await client.stream(.get("\(raw: server.url)/")) { response in
        // If the body has not arrived by then, reading it fails in any case.
        try await Task.sleep(for: .milliseconds(50))
        return response
      }

      let error = await #expect(throws: HTTPError.self) { try await response.text }
      #expect(error?.kind == .unsupported && error?.message.contains("closure") == true)
    }

    @Test(arguments: Lane.engines)
    func `releasing the response and its iterator cancels the request and closes the connection`(
      lane: Lane
    ) async throws {
      let server = try MockServer(.steps(Self.pieces + [.hang]))
      defer { server.stop() }
      let client = lane.client()

      var response: StreamedResponse? = try await client.stream("\(raw: server.url)/")
      var reader = response?.body.makeAsyncIterator()
      #expect(try await reader?.next() == Data("abc".utf8))
      response = nil
      // The iterator keeps the response open as well.
      #expect(client.activity.current.running.count == 1)
      reader = nil

      #expect(await server.wait { $0.disconnects == 1 && $0.openConnections == 0 })
      await client.waitUntilEmpty()
      #expect(client.activity.current.totals.cancelled == 1)
    }

    @Test(arguments: Lane.engines) func `reading a held response twice throws`(lane: Lane) async throws {
      let server = try MockServer(.chunked(["abc", "def"]))
      defer { server.stop() }
      let response = try await lane.client().stream("\(raw: server.url)/")
      #expect(try await response.text == "abcdef")

      let error = await #expect(throws: HTTPError.self) { try await response.text }

      #expect(error?.kind == .unsupported)
    }

    @Test(arguments: Lane.engines)
    func `a response that escapes stream's closure keeps no connection and cannot be read`(
      lane: Lane
    ) async throws {
      let server = try MockServer(.steps(Self.pieces + [.hang]))
      defer { server.stop() }
      let client = lane.client()

      let (response, iterator) = try await client.stream(.get("\(raw: server.url)/")) { response in
        var iterator = response.body.makeAsyncIterator()
        let first = try await iterator.next()
        #expect(first == Data("abc".utf8))
        return (response, iterator)
      }

      #expect(await server.wait { $0.disconnects == 1 && $0.openConnections == 0 })
      let fresh = await #expect(throws: HTTPError.self) { try await response.text }
      let begun = await #expect(throws: HTTPError.self) {
        var iterator = iterator
        return try await iterator.next()
      }
      #expect(fresh?.kind == .unsupported && begun?.kind == .unsupported)
      #expect(client.cancelAll() == 0 && client.activity.current.totals.succeeded == 1)
      await client.drain()
    }

    @Test(arguments: Lane.engines) func `a concurrent second reader gets an error`(
      lane: Lane
    ) async throws {
      let server = try MockServer(.steps(Self.pieces + [.hang]))
      defer { server.stop() }
      let response = try await lane.client().stream("\(raw: server.url)/")
      var first = response.body.makeAsyncIterator()
      #expect(try await first.next() == Data("abc".utf8))

      let waiting = Task {
        var second = response.body.makeAsyncIterator()
        return try await second.next()
      }
      let third = Task {
        var reader = response.body.makeAsyncIterator()
        return try await reader.next()
      }
      // One of the tasks waits for a chunk that never arrives, and the other task gets an error.
      let refused = await withTaskGroup(of: (any Error)?.self) { group in
        for task in [waiting, third] {
          group.addTask {
            do { _ = try await task.value } catch { return error }
            return nil
          }
        }
        let error = await group.next() ?? nil
        waiting.cancel()
        third.cancel()
        await group.waitForAll()
        return error
      }
      #expect((refused as? HTTPError)?.kind == .unsupported)
    }

    @Test(arguments: Lane.engines) func `a response without a body ends without being read`(lane: Lane) async throws {
      let server = try MockServer(.empty(204))
      defer { server.stop() }
      let client = lane.client()

      let response = try await client.stream("\(raw: server.url)/")

      await client.waitUntilEmpty()
      #expect(response.status == .noContent && client.activity.current.totals.succeeded == 1)
      #expect(try await response.text == "")
    }

    @Test(arguments: Lane.engines) func `a reader that sleeps longer than the idle limit receives the complete body`(
      lane: Lane
    ) async throws {
      let server = try MockServer { request in
        request.path == "/small" ? .ok("abc") : .repeating(Data("0123456789".utf8), count: 500_000)
      }
      defer { server.stop() }
      // Only the response keeps the client alive.
      let small = try await lane.client { $0.timeout.idle = .seconds(3) }.stream("\(raw: server.url)/small")
      let large = try await lane.client { $0.timeout.idle = .seconds(3) }.stream("\(raw: server.url)/large")

      try await Task.sleep(for: .seconds(4))

      #expect(try await small.text == "abc")
      var count = 0
      for try await piece in large.body {
        if count == 0 { try await Task.sleep(for: .seconds(4)) }
        count += piece.count
      }
      #expect(count == 5_000_000)
    }

    @Test(arguments: Lane.engines) func `the idle limit ends a silent response while its body is not read`(
      lane: Lane
    ) async throws {
      let server = try MockServer(.steps(Self.pieces + [.hang]))
      defer { server.stop() }
      let client = lane.client()

      let response = try await client.stream("\(raw: server.url)/", options: .timeout(idle: .seconds(3)))
      #expect(await server.wait { $0.openConnections == 0 })
      let error = await #expect(throws: HTTPError.self) { for try await _ in response.body {} }

      #expect(error?.kind == .timedOut)
      await client.waitUntilEmpty()
    }

    @Test(arguments: Lane.engines) func `the total limit ends a request while its body is not read`(lane: Lane)
      async throws
    {
      let server = try MockServer(.steps(Self.pieces + [.hang]))
      defer { server.stop() }
      let client = lane.client()

      let response = try await client.stream("\(raw: server.url)/", options: .timeout(.seconds(3)))
      #expect(await server.wait { $0.openConnections == 0 })

      let error = await #expect(throws: HTTPError.self) { for try await _ in response.body {} }
      #expect(error?.kind == .timedOut)
      await client.waitUntilEmpty()
    }

    @Test(arguments: Lane.engines) func `a function can return the response for another task to read`(lane: Lane)
      async throws
    {
      let server = try MockServer(.ok("hello"))
      defer { server.stop() }
      let client = lane.client()
      func handle() async throws -> StreamedResponse { try await client.stream("\(raw: server.url)/") }

      let response = try await handle()

      #expect(try await Task { try await response.text }.value == "hello")
      await client.waitUntilEmpty()
    }

    @Test(arguments: Lane.engines) func `the body can be sent as the body of another request`(lane: Lane) async throws {
      let upstream = try MockServer(.repeating(Data("0123456789".utf8), count: 100_000))
      let sink = try MockServer(answering: { .ok("\($0.bodyLength)") })
      defer {
        upstream.stop()
        sink.stop()
      }
      let client = lane.client()

      let response = try await client.stream("\(raw: upstream.url)/")
      let count = try await client.put("\(raw: sink.url)/", body: .stream(response.body)).text

      #expect(count == "1000000")
      await client.waitUntilEmpty()
    }

    @Test(arguments: Lane.engines) func `cancelling the reading task also ends the request`(lane: Lane) async throws {
      let server = try MockServer(.steps(Self.pieces + [.hang]))
      defer { server.stop() }
      let client = lane.client()
      let response = try await client.stream("\(raw: server.url)/")
      let hasRead = Shared(false)

      let reader = Task {
        for try await _ in response.body { hasRead.withLock { $0 = true } }
      }
      #expect(await becomes { hasRead.value })
      reader.cancel()

      await #expect(throws: CancellationError.self) { try await reader.value }
      #expect(await server.wait { $0.openConnections == 0 })
      await client.waitUntilEmpty()
    }

    @Test(arguments: Lane.engines) func `a truncated body throws connectionLost with details of the call`(lane: Lane)
      async throws
    {
      let server = try MockServer(.steps(Self.pieces + [.cut]))
      defer { server.stop() }
      let client = lane.client()

      let response = try await client.stream("\(raw: server.url)/")
      let error = await #expect(throws: HTTPError.self) { try await response.collect(upTo: 100) }

      #expect(error?.kind == .connectionLost && error?.method == .get && error?.elapsed != nil)
      // The truncated body is an error each time it is read.
      await #expect(throws: HTTPError.self) { try await response.text }
      await client.waitUntilEmpty()
      #expect(client.activity.current.totals.failed == 1)
    }

    @Test(arguments: Lane.engines) func `collect throws without waiting if Content-Length exceeds its limit`(
      lane: Lane
    ) async throws {
      let server = try MockServer(.steps([.text("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nabc"), .hang]))
      defer { server.stop() }
      let response = try await lane.client().stream("\(raw: server.url)/")

      let error = await #expect(throws: HTTPError.self) { try await response.collect(upTo: 100) }

      #expect(error?.kind == .bodyTooLarge)
    }

    @Test(arguments: Lane.engines) func `a status that is not accepted throws and ends the request`(
      lane: Lane
    ) async throws {
      let server = try MockServer(.status(404, body: "no"))
      defer { server.stop() }
      let client = lane.client { $0.options.accepts = .success }

      let error = await #expect(throws: HTTPError.self) { _ = try await client.stream("\(raw: server.url)/") }

      #expect(error?.status == .notFound && error?.response?.text == "no")
      await client.waitUntilEmpty()
    }

    @Test(arguments: Lane.engines) @MainActor func `can be iterated on the main actor`(lane: Lane) async throws {
      final class Screen {
        var text = ""
      }
      let server = try MockServer(.chunked(["a", "b"]))
      defer { server.stop() }
      let screen = Screen()

      let response = try await lane.client().stream("\(raw: server.url)/")
      for try await line in response.lines { screen.text += line }

      #expect(screen.text == "ab")
    }
  }
#endif
