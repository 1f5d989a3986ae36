#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// Gzipped bodies over sockets.
  @Suite(.ownThreads, .hangLimit) struct GzipTransferTests {
    /// Whether Python decompresses the received data to the expected data.
    private static func isInflated(_ data: Data, to expected: Data) async throws -> Bool {
      let folder = try TemporaryFolder()
      try data.write(to: URL(filePath: folder.path("body.gz")))
      try expected.write(to: URL(filePath: folder.path("body")))
      let program = """
        import gzip, sys
        print(gzip.open(sys.argv[1]).read() == open(sys.argv[2], "rb").read(), end="")
        """
      let arguments = ["-c", program, folder.path("body.gz"), folder.path("body")]
      let result = try await TestProgram.python.start(arguments).end()
      try #require(result.status == 0, "\(result.errors)")
      return result.text == "True"
    }

    private static func mixed(_ count: Int) -> Data {
      var random = SeededGenerator(seed: 11)
      return Data(count: count) { $0 % 1000 < 300 ? UInt8(truncatingIfNeeded: random.next()) : UInt8($0 % 7) }
    }

    @Test(.needs(.python), arguments: Lane.engines)
    func `Python decompresses gzipped bodies from every source`(lane: Lane) async throws {
      let server = try MockServer(.ok())
      defer { server.stop() }
      let data = Self.mixed(700_000)
      let folder = try TemporaryFolder()
      defer { folder.remove() }
      let file = try folder.write(data, to: "file")
      let form = HTTPBody.multipart(boundary: "b") {
        $0.add("x", for: "n")
        $0.add(file: file, for: "f", filename: "f")
      }
      let start = "--b\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\nx\r\n--b\r\n"
      let head = "Content-Disposition: form-data; name=\"f\"; filename=\"f\"\r\nContent-Type: application/octet-stream"
      let formBytes = Data("\(start)\(head)\r\n\r\n".utf8) + data + Data("\r\n--b--\r\n".utf8)
      let small = Data(String(repeating: "small ", count: 100).utf8)
      let cases: [(HTTPBody, Data)] = [
        (.data(data), data), (.file(file), data), (.stream(UploadPieces(data, count: 3)), data + data + data),
        (.concatenating([.text("<"), .file(file), .text(">")]), Data("<".utf8) + data + Data(">".utf8)),
        (form, formBytes), (.data(small), small), (.stream(UploadPieces(data, count: 2)).spooled(), data + data),
      ]

      for (number, (body, expected)) in cases.enumerated() {
        _ = try await lane.client().post(RequestTarget(server.url), body: body.gzipped())

        let request = try #require(server.requests.last)
        #expect(request.headers(named: "Content-Encoding") == ["gzip"], "\(number)")
        #expect(request.header("Content-Type") == body.contentType)
        // Only the small body is compressed in advance, so only its length is known.
        #expect((request.header("Transfer-Encoding") == "chunked") == (number != 5), "\(number)")
        #expect(request.body.count < expected.count)
        #expect(try await Self.isInflated(request.body, to: expected), "\(number)")
      }
    }

    @Test(.needs(.python), arguments: Lane.engines)
    func `a spooled gzip body has a Content-Length and can be repeated`(lane: Lane) async throws {
      try TemporaryFolder.requireRoom()
      let server = try MockServer(script: [.status(503), .ok()])
      defer { server.stop() }
      let data = Self.mixed(300_000)
      let client = lane.client { $0.retry = .backoff(attempts: 2, initialDelay: .zero) }

      _ = try await client.put(RequestTarget(server.url), body: .data(data).gzipped().spooled())

      #expect(server.requests.count == 2)
      for request in server.requests {
        #expect(request.header("Content-Length") == "\(request.body.count)")
        #expect(request.header("Content-Encoding") == "gzip")
        #expect(try await Self.isInflated(request.body, to: data))
      }
    }

    @Test(.needs(.proc), arguments: Lane.engines)
    func `compresses a large file with bounded memory`(lane: Lane) async throws {
      let child = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { [lane] in
        let server = try MockServer(.ok(), options: .init(keepsBodies: false))
        let client = lane.client()
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let file = try folder.write(Data(count: 3_000_000), to: "file")
        _ = try await client.post(RequestTarget(server.url), body: .file(file).gzipped())
        let handle = try FileHandle(forUpdating: file)
        let size = Stress.count(64 << 20, full: 1 << 30)
        try handle.truncate(atOffset: UInt64(size))
        try handle.close()
        let start = ContinuousClock.now
        let more = try await ProcessFacts.peakGrowth {
          _ = try await client.post(RequestTarget(server.url), body: .file(file).gzipped())
        }
        let time = Figures.milliseconds(ContinuousClock.now - start)
        Figures.record("\(size >> 20) MiB gzipped on \(lane): \(more >> 10) KiB more, \(time)")
        #expect(server.requests.last?.isComplete == true)
        #expect((size / 2_000..<size / 50).contains(server.requests.last?.bodyLength ?? 0))
        #expect(isSanitized || more < 16 << 20)
        server.stop()
      }
      Figures.show(child)
    }
  }
#endif
