#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// Forms and concatenated bodies over sockets.
  @Suite(.ownThreads, .hangLimit) struct ComposedTransferTests {
    private static func file(_ count: Int, byte: UInt8 = 7) throws -> URL {
      try TemporaryFolder.requireRoom()
      let url = FileManager.default.temporaryDirectory.appending(path: "martlet-\(UUID().uuidString).bin")
      try Data(repeating: byte, count: count).write(to: url)
      return url
    }

    private static func sparseFile(_ size: UInt64) throws -> URL {
      let url = try file(0)
      let handle = try FileHandle(forUpdating: url)
      try handle.truncate(atOffset: size)
      try handle.close()
      return url
    }

    private static func form(_ file: URL) -> HTTPBody {
      .multipart(boundary: "b") {
        $0.add("Ben", for: "first_name")
        $0.add(file: file, for: "photo", filename: "photo.png")
        $0.add("end", for: "last")
      }
    }

    private static func expected(_ content: Data) -> Data {
      Data("--b\r\nContent-Disposition: form-data; name=\"first_name\"\r\n\r\nBen\r\n--b\r\n".utf8)
        + Data("Content-Disposition: form-data; name=\"photo\"; filename=\"photo.png\"\r\n".utf8)
        + Data("Content-Type: image/png\r\n\r\n".utf8) + content
        + Data("\r\n--b\r\nContent-Disposition: form-data; name=\"last\"\r\n\r\nend\r\n--b--\r\n".utf8)
    }

    // MARK: Bytes

    @Test(arguments: Lane.engines, [0, 1, 262_144, 262_145, 3_000_001])
    func `sends a form with its Content-Length`(lane: Lane, size: Int) async throws {
      let server = try MockServer(.ok())
      defer { server.stop() }
      let file = try Self.file(size)
      defer { try? FileManager.default.removeItem(at: file) }

      _ = try await lane.client().post(RequestTarget(server.url), body: Self.form(file))

      let request = try #require(server.requests.first)
      let expected = Self.expected(Data(repeating: 7, count: size))
      #expect(request.body == expected)
      #expect(request.headers(named: "Content-Length") == ["\(expected.count)"])
      #expect(request.headers(named: "Transfer-Encoding") == [])
      #expect(request.header("Content-Type") == "multipart/form-data; boundary=b")
    }

    @Test(arguments: Lane.engines)
    func `sends concatenated parts of every kind in order`(lane: Lane) async throws {
      let server = try MockServer(answering: MockResponse.echo)
      defer { server.stop() }
      let file = try Self.file(300_000)
      defer { try? FileManager.default.removeItem(at: file) }
      let pieces = UploadPieces(Data(count: 1000), count: 10)
      let known = HTTPBody.concatenating([
        .text("<"), .file(file), .data(Data(repeating: 3, count: 400_000)), .stream(pieces, length: 10_000), .text(">"),
      ])
      let unknown = HTTPBody.concatenating([
        .text("<"), .stream(UploadPieces(Data(count: 1000), count: 10)), .text(">"),
      ])

      let first = try await lane.client().put(RequestTarget(server.url), body: known)
      let second = try await lane.client().put(RequestTarget(server.url), body: unknown)
      let third = try await lane.client().put(RequestTarget(server.url), body: .concatenating([.data(Data())]))

      let expected =
        Data("<".utf8) + Data(repeating: 7, count: 300_000) + Data(repeating: 3, count: 400_000)
        + Data(count: 10_000) + Data(">".utf8)
      #expect(first.body == expected)
      #expect(second.body == Data("<".utf8) + Data(count: 10_000) + Data(">".utf8))
      #expect(third.body.isEmpty)
      #expect(
        server.requests.map { $0.header("Content-Length") } == ["\(expected.count)", nil, "0"])
      #expect(server.requests.allSatisfy { $0.header("Content-Type") == "application/octet-stream" })
    }

    @Test(.needs(.proc), arguments: Lane.engines)
    func `uploads a large file in a form with bounded memory`(lane: Lane) async throws {
      let child = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { [lane] in
        let server = try MockServer(.ok(), options: .init(keepsBodies: false))
        let client = lane.client()
        let small = try Self.file(3_000_000)
        let size = Stress.count(60_000_000, full: 200_000_000)
        let file = try Self.sparseFile(UInt64(size))
        defer {
          try? FileManager.default.removeItem(at: file)
          try? FileManager.default.removeItem(at: small)
        }
        _ = try await client.post(RequestTarget(server.url), body: Self.form(small))
        let more = try await ProcessFacts.peakGrowth {
          _ = try await client.post(RequestTarget(server.url), body: Self.form(file))
        }
        Figures.record("a form of \(size / 1_000_000) MB on \(lane): \(more >> 10) KiB more")
        #expect(server.requests.last?.bodyLength == Self.expected(Data()).count + size)
        #expect(isSanitized || more < 16 << 20)
        server.stop()
      }
      Figures.show(child)
    }

    // MARK: Invalid files

    @Test(arguments: Lane.engines)
    func `rejects a missing file or a folder before connecting, and names it`(lane: Lane) async throws {
      let server = try MockServer(.ok())
      defer { server.stop() }
      let missing = URL(filePath: "/nonexistent/martlet-photo.png")

      for file in [missing, FileManager.default.temporaryDirectory] {
        let error = await #expect(throws: HTTPError.self) {
          try await lane.client().post(RequestTarget(server.url), body: Self.form(file))
        }
        #expect(error?.kind == .fileFailed)
        #expect(error?.message.contains(file.lastPathComponent) == true)
      }
      #expect(server.connectionCount == 0)
    }

    @Test(arguments: Lane.engines, [-1_000_000, 1_000_000])
    func `an upload fails and stays incomplete if its file changes length`(
      lane: Lane, change: Int
    ) async throws {
      let size = 16_000_000
      let file = try Self.file(size)
      defer { try? FileManager.default.removeItem(at: file) }
      let server = try SteppedServer()
      let client = lane.client()

      let upload = Task {
        try await client.post(server.target, body: Self.form(file), options: .expectsContinue(false))
      }
      // The buffers cannot hold the whole file, so the client is still reading it when it changes.
      try await server.request()
      let handle = try FileHandle(forUpdating: file)
      try handle.truncate(atOffset: UInt64(size + change))
      try handle.close()
      let count = try await server.countToEnd()
      let error = await #expect(throws: HTTPError.self) { try await upload.joined }

      #expect(error?.kind == .fileFailed)
      #expect(error?.phase == .sending)
      #expect(error?.message.contains(file.lastPathComponent) == true)
      #expect(count < Self.expected(Data()).count + size)
    }

    // MARK: Repeated and interrupted uploads

    @Test(arguments: Lane.engines)
    func `repeats a form after a 503 and after a 307 redirect`(lane: Lane) async throws {
      let script: [MockResponse] = [.status(503), .redirect(to: "/there", status: 307), .ok("done")]
      let server = try MockServer(script: script)
      defer { server.stop() }
      let file = try Self.file(500_000)
      defer { try? FileManager.default.removeItem(at: file) }
      let client = lane.client {
        $0.retry = .backoff(attempts: 2, initialDelay: .zero)
        $0.redirects = .follow
      }

      let response = try await client.put(RequestTarget(server.url), body: Self.form(file))

      #expect(response.text == "done")
      #expect(
        server.requests.map(\.body) == Array(repeating: Self.expected(Data(repeating: 7, count: 500_000)), count: 3))
    }

    @Test(arguments: Lane.engines)
    func `an early response stops the upload of a form and is delivered`(lane: Lane) async throws {
      let answer = MockResponse.status(413, body: "too large")
      let options = MockServer.Options(keepsBodies: false, sendsContinue: false, earlyAnswer: { _ in answer })
      let server = try MockServer(.ok(), options: options)
      defer { server.stop() }
      let file = try Self.sparseFile(2 << 30)
      defer { try? FileManager.default.removeItem(at: file) }

      for expects in [false, true] {
        let response = try await lane.client().post(
          RequestTarget(server.url), body: Self.form(file), options: .expectsContinue(expects))
        #expect(response.status == 413 && response.text == "too large")
      }

      #expect(await server.waitForOpenConnections(atMost: 0))
      #expect(server.requests.allSatisfy { !$0.isComplete && $0.bodyLength < 1 << 30 })
      #expect(server.requests.last?.bodyLength == 0)
    }

    // MARK: Lengths

    @Test(arguments: Lane.engines)
    func `POST, PUT and PATCH send Content-Length 0 for an empty body`(lane: Lane) async throws {
      let server = try MockServer(.ok())
      defer { server.stop() }
      let client = lane.client()
      let bodies: [HTTPBody?] = [nil, .data(Data()), .concatenating([]), .data(Data()).gzipped()]

      for method in [HTTPMethod.post, .put, .patch] {
        for body in bodies { _ = try await client.send(HTTPRequest(method, RequestTarget(server.url), body: body)) }
      }

      #expect(server.requests.count == 12)
      #expect(server.requests.allSatisfy { $0.headers(named: "Content-Length") == ["0"] })
      #expect(server.requests.allSatisfy { $0.headers(named: "Transfer-Encoding") == [] })
    }

    @Test(arguments: Lane.engines)
    func `sends a body with GET, DELETE and REPORT`(lane: Lane) async throws {
      let server = try MockServer(answering: MockResponse.echo)
      defer { server.stop() }

      for method in [HTTPMethod.get, .delete, HTTPMethod(rawValue: "REPORT")] {
        let request = HTTPRequest(method, RequestTarget(server.url), body: .text("<q/>"))
        #expect(try await lane.client().send(request).text == "<q/>")
      }

      #expect(server.requests.map(\.method) == ["GET", "DELETE", "REPORT"])
      #expect(server.requests.allSatisfy { $0.headers(named: "Content-Length") == ["4"] })
    }

    // MARK: The system's loader

    #if canImport(Darwin) || URLSession
      @Test func `the system's loader refuses GET with a body`() async throws {
        let server = try MockServer(answering: MockResponse.echo)
        defer { server.stop() }
        let system = HTTPClient { $0.transport = .urlSession(loader: .system) }

        let error = await #expect(throws: HTTPError.self) {
          try await system.send(HTTPRequest(.get, RequestTarget(server.url), body: .text("<q/>")))
        }

        #expect(error?.kind == .unsupported && server.requests.isEmpty)
      }
    #endif

    #if canImport(Darwin) || URLSession
      @Test func `the system's loader sends bodies in memory and refuses bodies that contain files`() async throws {
        let server = try MockServer(answering: MockResponse.echo)
        defer { server.stop() }
        let client = HTTPClient {
          $0.transport = .urlSession(loader: .system)
          $0.retry = .off
        }
        let file = try Self.file(10)
        defer { try? FileManager.default.removeItem(at: file) }
        let large = Data(repeating: 1, count: 100_000)

        let form = try await client.post(
          RequestTarget(server.url), body: .multipart(boundary: "b") { $0.add(large, for: "n", filename: "f") })
        _ = try await client.post(RequestTarget(server.url), body: .data(large).gzipped())
        let count = server.requests.count
        for body in [Self.form(file), .concatenating([.file(file), .text("x")]), .file(file).gzipped()] {
          let error = await #expect(throws: HTTPError.self) {
            try await client.post(RequestTarget(server.url), body: body)
          }
          #expect(error?.kind == .unsupported)
        }

        #expect(form.body.range(of: large) != nil)
        #expect(server.requests.last?.header("Content-Encoding") == "gzip")
        #expect(server.requests.count == count)
      }
    #endif
  }
#endif
