#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// Announced lengths that differ from the body: the response is right or an error, and no memory is reserved in
  /// advance.
  @Suite(.hangLimit) struct PeerNumberTests {
    private static let numbers = [
      "0", "-1", "2147483648", "9007199254740992", "9223372036854775807", "18446744073709551616",
      "1000000000000000000000000000000",
    ]

    /// Returns a server that announces a length and sends two bytes; for a range request, it announces a part.
    ///
    /// `HEAD` requests get the announcement only.
    private static func server(_ number: String) throws -> MockServer {
      try MockServer { request in
        let status =
          request.header("Range") == nil ? "200 OK" : "206 Partial Content\r\nContent-Range: bytes 0-1/\(number)"
        let head = "HTTP/1.1 \(status)\r\nETag: \"1\"\r\nContent-Length: \(number)\r\n\r\n"
        return .raw(request.method == "HEAD" ? head : head + "ok")
      }
    }

    private static func expectTruth<Value>(
      _ number: String, _ body: () async throws -> Value
    ) async -> Value? {
      do { return try await body() } catch {
        let kind = (error as? HTTPError)?.kind
        let kinds: [HTTPError.Kind] = [.connectionLost, .protocolViolation, .bodyTooLarge, .fileFailed]
        #expect(kind.map { kinds.contains($0) } == true, "\(number): \(error)")
        return nil
      }
    }

    @Test(arguments: Lane.engines, numbers)
    func `obeys or rejects each Content-Length of bodies, streams and downloads`(lane: Lane, number: String)
      async throws
    {
      let server = try Self.server(number)
      defer { server.stop() }
      let folder = try TemporaryFolder()
      let client = lane.client { $0.options.maximumBodyBytes = .max }
      let url = RequestTarget(server.url("/a"))
      let right = number == "0" ? "" : nil

      let whole = await Self.expectTruth(number) { try await client.get(url).text }
      let streamed = await Self.expectTruth(number) { try await client.stream(.get(url)) { try await $0.text } }
      var files: [Int64?] = []
      for segments in [1, 3] {
        var options = DownloadOptions()
        options.segments = segments
        let file = folder.url.appending(path: "\(segments)")
        files.append(
          await Self.expectTruth(number) { try await client.download(.get(url), to: file, options: options).byteCount })
      }

      #expect(whole == right && streamed == right)
      #expect(files.allSatisfy { $0 == nil || $0 == 0 })
    }

    @Test(arguments: Lane.engines)
    func `a queue with accurate progress finishes with any announced length`(lane: Lane) async throws {
      let servers = try (Self.numbers + Self.numbers).map { try Self.server($0) }
      defer { for server in servers { server.stop() } }
      let queue = RequestQueue(client: lane.client(), progress: .accurate)
      for server in servers { queue.add(.get(RequestTarget(server.url("/a")))) }

      let summary = await queue.finish()

      #expect(summary.ended == servers.count && summary.succeeded == 2)
      #expect(queue.status.fraction == 1)
    }

    @Test(arguments: Lane.engines)
    func `a Content-Length above the limit fails before the first byte of the body`(lane: Lane) async throws {
      let server = try MockServer(.steps([.text("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n"), .hang]))
      defer { server.stop() }
      let client = lane.client {
        $0.options.maximumBodyBytes = 1000
        $0.timeout = .unlimited
      }

      let error = await #expect(throws: HTTPError.self) { try await client.get(RequestTarget(server.url)) }
      let streamed = await #expect(throws: HTTPError.self) {
        try await client.stream(.get(RequestTarget(server.url))) { try await $0.body.collect(upTo: 1000) }
      }

      #expect(error?.kind == .bodyTooLarge && streamed?.kind == .bodyTooLarge)
      #expect(await server.waitForOpenConnections(atMost: 0))
      #expect(try await client.head(RequestTarget(server.url)).headers["Content-Length"] == "1001")
    }
  }
#endif
