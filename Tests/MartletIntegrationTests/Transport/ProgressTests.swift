#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// The progress that a transport reports for a request.
  @Suite(.hangLimit) struct ProgressTests {
    private static let lanes = Lane.engines

    /// Returns a million letters, which gzip reduces to about 0.6 of their size.
    private static func coded() throws -> Data {
      var random = SeededGenerator(seed: 6)
      return try Compressor.compress(Data(count: 1_000_000) { _ in 97 + UInt8(random.next() % 26) }, .gzip)
    }

    private static func expectRising(_ told: [TransferProgress]) {
      for (before, after) in zip(told, told.dropFirst()) {
        let isRising =
          after.sent >= before.sent && after.received >= before.received
          && after.fraction ?? 0 >= before.fraction ?? 0 && after.resent >= before.resent
        #expect(isRising, "\(before) \(after)")
      }
      #expect(told.compactMap(\.fraction).allSatisfy { 0...1 ~= $0 })
      #expect(told.dropLast().allSatisfy { !$0.isFinished })
    }

    @Test(arguments: lanes) func `counts bytes resent after a 401 separately`(lane: Lane) async throws {
      let server = try MockServer(answering: { request in
        request.header("Authorization") == nil
          ? .status(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""], body: String(repeating: "n", count: 5000))
          : .ok("yes")
      })
      defer { server.stop() }
      let told = Shared<[TransferProgress]>([])
      let client = lane.client { $0.accepts = .success }
      let options = RequestOptions.credential(.user("ada", password: "sesame")).onProgress { progress in
        told.withLock { $0.append(progress) }
      }

      _ = try await client.put("\(raw: server.url)", body: .data(Data(count: 300_000)), options: options)

      let progress = told.withLock { $0 }
      Self.expectRising(progress)
      let last = try #require(progress.last)
      #expect(last.isFinished && last.fraction == 1 && last.attempt == 2)
      #expect(last.sent == 300_000 && last.resent == 300_000, "\(last)")
      #expect(last.received == 3 && last.rereceived == 5000, "\(last)")
    }

    @Test(arguments: lanes) func `the body of a redirect does not count as progress`(lane: Lane) async throws {
      let server = try MockServer(answering: { request in
        guard request.target == "/old" else { return .ok(String(repeating: "x", count: 100)) }
        return .status(302, headers: ["Location": "/new"], body: String(repeating: "o", count: 10_000))
      })
      defer { server.stop() }
      let told = Shared<[TransferProgress]>([])
      let client = lane.client { $0.redirects = .follow }

      _ = try await client.get(
        "\(raw: server.url)/old", options: .onProgress { progress in told.withLock { $0.append(progress) } })

      let progress = told.withLock { $0 }
      Self.expectRising(progress)
      let last = try #require(progress.last)
      #expect(last.received == 100 && last.expectedToReceive == 100 && last.attempt == 2, "\(last)")
      #expect(last.rereceived == 10_000, "\(last)")
    }

    @Test(arguments: lanes) func `counts an encoded body in encoded bytes`(lane: Lane)
      async throws
    {
      let coded = try Self.coded()
      let server = try MockServer(.data(coded, headers: ["Content-Encoding": "gzip"]))
      defer { server.stop() }
      let told = Shared<[TransferProgress]>([])

      let response = try await lane.client().get(
        "\(raw: server.url)", options: .onProgress { progress in told.withLock { $0.append(progress) } })

      let progress = told.withLock { $0 }
      Self.expectRising(progress)
      #expect(response.body.count == 1_000_000)
      #expect(progress.last?.received == Int64(coded.count) && progress.last?.expectedToReceive == Int64(coded.count))
      #expect(progress.last?.fraction == 1)
    }

    @Test(arguments: lanes) func `reports progress in both directions, and none after the end`(lane: Lane) async throws
    {
      let server = try MockServer(answering: { request in .data(request.body) })
      defer { server.stop() }
      let told = Shared<[TransferProgress]>([])
      let data = Data(count: 10_000_000)

      let start = ContinuousClock.now
      _ = try await lane.client().put(
        "\(raw: server.url)", body: .data(data),
        options: .onProgress { progress in told.withLock { $0.append(progress) } })
      let count = told.withLock { $0.count }
      let time = ContinuousClock.now - start
      try await Task.sleep(for: .milliseconds(100))

      let progress = told.withLock { $0 }
      #expect(progress.count == count && progress.last?.isFinished == true)
      #expect(Double(count) <= time / .milliseconds(50) + 2, "\(count) in \(time)")
      Self.expectRising(progress)
      #expect(progress.last?.sent == 10_000_000 && progress.last?.received == 10_000_000)
      #expect(progress.first { $0.received > 0 && !$0.isFinished }.map { $0.fraction ?? 0 >= 0.9 } ?? true)
    }

    @Test(arguments: lanes) func `reports the progress of a small body at most twice`(lane: Lane) async throws {
      let server = try MockServer(.empty(204))
      defer { server.stop() }
      let told = Shared<[TransferProgress]>([])

      _ = try await lane.client().put(
        "\(raw: server.url)", body: .text("x"),
        options: .onProgress { progress in told.withLock { $0.append(progress) } })

      #expect(told.withLock { $0 }.map(\.fractionSent).allSatisfy { $0 == 1 })
      #expect((1...2).contains(told.withLock { $0.count }))
    }

    @Test(arguments: lanes) func `a blocking closure delays no other request and may send blocking requests`(
      lane: Lane
    ) async throws {
      let piece = Data(count: 1 << 16)
      let server = try MockServer { (request: RecordedRequest) in
        request.path == "/large" ? .repeating(piece, count: 64) : .ok("small")
      }
      let small = RequestTarget(server.url("/small"))
      let client = lane.client()
      let inside = Log<String>()
      let mayReturn = DispatchSemaphore(value: 0)

      let large = client.start(
        .get(RequestTarget(server.url("/large"))),
        options: .onProgress { _ in
          guard inside.count == 0 else { return }
          do { inside.add(try client.blocking.send(.get(small)).text) } catch { inside.add("\(error)") }
          mayReturn.wait()
        })
      await inside.wait(for: 1)
      let other = try await client.get(small)
      mayReturn.signal()
      let size = try await large.value.body.count

      #expect(inside.elements == ["small"] && other.text == "small")
      #expect(size == 64 << 16)
    }

    #if canImport(Darwin) || URLSession
      @Test func `the system loader reports no fraction for an encoded body`() async throws {
        let coded = try Self.coded()
        let server = try MockServer(.data(coded, headers: ["Content-Encoding": "gzip"]))
        defer { server.stop() }
        let told = Shared<[TransferProgress]>([])
        let client = HTTPClient { $0.transport = .urlSession(loader: .system) }

        _ = try await client.get(
          "\(raw: server.url)", options: .onProgress { progress in told.withLock { $0.append(progress) } })

        #expect(told.withLock { $0 }.dropLast().allSatisfy { $0.fraction == nil })
        #expect(told.withLock { $0 }.last?.fraction == 1)
      }
    #endif
  }
#endif
