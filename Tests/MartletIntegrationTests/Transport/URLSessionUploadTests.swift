#if canImport(Darwin) || URLSession
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  extension URLSessionTests {
    @Suite(.hangLimit) struct UploadTests {
      private let client = HTTPClient {
        $0.transport = .urlSession(loader: .system)
        $0.retry = .off
      }

      private static func file(_ count: Int, byte: UInt8 = 7) throws -> URL {
        try TemporaryFolder.requireRoom()
        let url = FileManager.default.temporaryDirectory.appending(path: "martlet-\(UUID().uuidString)")
        try Data(repeating: byte, count: count).write(to: url)
        return url
      }

      @Test(arguments: [0, 1, 16_384, 16_385, 65_536, 1_000_003])
      func `sends bodies with a Content-Length`(_ count: Int) async throws {
        let server = try MockServer(answering: MockResponse.echo)
        let data = Data(count: count) { UInt8(truncatingIfNeeded: $0 &* 31) }
        let file = try Self.file(0)
        try data.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }

        let fromData = try await client.put(RequestTarget(server.url), body: .data(data))
        let fromFile = try await client.post(RequestTarget(server.url), body: .file(file))

        #expect(fromData.body == data)
        #expect(fromFile.body == data)
        for request in server.requests {
          #expect(request.headers(named: "Content-Length") == ["\(count)"])
          #expect(request.header("Transfer-Encoding") == nil)
          #expect(request.header("Expect") == nil)
        }
      }

      @Test func `rejects a streamed body before connecting`() async throws {
        let server = try MockServer(.ok())
        let stream = HTTPBody.stream(AsyncStream<Data> { $0.finish() })

        let error = await #expect(throws: HTTPError.self) {
          try await client.post(RequestTarget(server.url), body: stream)
        }

        #expect(error?.kind == .unsupported)
        #expect(error?.message.contains(".urlSession") == true)
        #expect(server.connectionCount == 0)
      }

      @Test func `reports the number of bytes sent`() async throws {
        let server = try MockServer(.ok())

        let handle = client.start(.post(RequestTarget(server.url), body: .data(Data(count: 500_000))))
        _ = try await handle.value

        var last = TransferProgress()
        for await progress in handle.progress { last = progress }
        #expect(last.sent == 500_000)
        #expect(last.expectedToSend == 500_000)
      }

      @Test func `returns a response that arrives before the end of the upload`() async throws {
        let options = MockServer.Options(earlyAnswer: { _ in .status(413, body: "too much") })
        let server = try MockServer(.ok(), options: options)

        let response = try await client.post(
          RequestTarget(server.url), body: .data(Data(count: 20_000_000)), options: .accepts(.any))

        #expect(response.status == .contentTooLarge)
      }

      /// libcurl repeats a request if its connection is lost, even a POST.
      @Test func `does not send a POST twice`() async throws {
        let server = try MockServer(connectionScripts: [[.ok("warm"), .steps([.cut])], [.ok("twice")]])
        _ = try await client.get(RequestTarget(server.url("/warm")))

        let error = await #expect(throws: HTTPError.self) {
          try await client.post(RequestTarget(server.url("/order")), body: .text("one beer"))
        }

        #expect(error?.kind == .connectionLost)
        #expect(error?.mayBeStaleConnection == true)
        _ = await server.waitForOpenConnections(atMost: 0)
        let whole = server.requests.filter { $0.path == "/order" && $0.isComplete }
        #expect(whole.count == 1)
      }

      @Test func `resends a complete PUT after a stale connection`() async throws {
        let server = try MockServer(connectionScripts: [[.ok("warm"), .steps([.cut])], [.ok("again")]])
        _ = try await client.get(RequestTarget(server.url("/warm")))
        let body = Data(repeating: 5, count: 100_000)

        let response = try await client.put(RequestTarget(server.url("/order")), body: .data(body))

        #expect(response.text == "again")
        #expect(server.requests.last?.body == body)
      }

      @Test func `survives connection resets during file uploads`() async throws {
        let file = try Self.file(3_000_000)
        defer { try? FileManager.default.removeItem(at: file) }
        let early = MockResponse.steps([.delay(.milliseconds(1)), .reset]).withoutReadingBody()
        let server = try MockServer(.ok(), options: MockServer.Options(earlyAnswer: { _ in early }))

        for _ in 0..<Stress.count(10, full: 50) {
          let error = await #expect(throws: HTTPError.self) {
            try await client.post(RequestTarget(server.url), body: .file(file))
          }
          #expect(error?.kind == .connectionLost)
        }
      }

      /// The length is read when the request starts, and the stall stops the sender in the middle of the file.
      @Test(arguments: [-1_000_000, 1_000_000])
      func `fails if a file changes its length during the upload`(_ change: Int) async throws {
        let size = 16_000_000
        let file = try Self.file(size)
        defer { try? FileManager.default.removeItem(at: file) }
        let server = try SteppedServer()
        let client = client

        let upload = Task { try await client.post(server.target, body: .file(file)) }
        // The buffers cannot hold the whole file, so the client is still reading it when it changes.
        try await server.request()
        let handle = try FileHandle(forUpdating: file)
        try handle.truncate(atOffset: UInt64(size + change))
        try handle.close()
        let count = try await server.countToEnd()

        let error = await #expect(throws: HTTPError.self) { try await upload.joined }
        #expect(error?.kind == .fileFailed)
        #expect(count < size)
      }
    }
  }
#endif
