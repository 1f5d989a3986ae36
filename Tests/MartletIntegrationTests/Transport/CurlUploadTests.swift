#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import CurlEngine
  @testable import MartletBase
  @testable import Martlet

  /// Streamed request bodies over sockets; the conformance cases cover what all transports must do.
  @Suite(.ownThreads, .hangLimit) struct CurlUploadTests {
    private let client = HTTPClient {
      $0.transport = .curl
      $0.retry = .off
      $0.accepts = .any
    }

    private static func bytes(_ count: Int) -> Data { Data(count: count) { UInt8(truncatingIfNeeded: $0 &* 31) } }

    // MARK: Bytes

    @Test(arguments: [nil, 0] as [Int64?])
    func `sends empty streams`(length: Int64?) async throws {
      let server = try MockServer(answering: MockResponse.echo)

      let empty = AsyncStream<Data> { $0.finish() }
      let first = try await client.post(RequestTarget(server.url), body: .stream(empty, length: length))
      let holes = UploadPieces(Data(), count: 100)
      let second = try await client.put(RequestTarget(server.url), body: .stream(holes, length: length))

      #expect(first.body.isEmpty && second.body.isEmpty)
      #expect(server.connectionCount == 1)
      #expect(server.requests.allSatisfy { $0.isComplete })
      #expect(holes.takenCount == 100)
      if length == 0 { #expect(server.requests.map { $0.header("Content-Length") } == ["0", "0"]) }
    }

    /// libcurl reads again even when paused, for example if another stream of its connection has data to send.
    @Test func `reads each block of a file once, even if libcurl reads repeatedly`() async throws {
      let folder = try TemporaryFolder()
      let bytes = Self.bytes(3 << 20)
      let file = folder.url.appending(path: "body")
      try bytes.write(to: file)
      // Removes the file from the system's cache, if possible.
      let descriptor = open(file.path, O_RDONLY | O_CLOEXEC)
      fsync(descriptor)
      posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
      close(descriptor)
      let upload = try CurlUpload(
        HTTPBody.file(file).content, length: Int64(bytes.count), request: .post("https://a.test/"))
      let told = Locked(0)
      upload.attach(onBytes: { told.withLock { $0 += 1 } }, onFailure: { Issue.record($0) })
      var memory = [UInt8](repeating: 0, count: 50_000)
      var sent = Data()
      var isWaiting = false
      while sent.count < bytes.count {
        let before = told.withLock { $0 }
        switch memory.withUnsafeMutableBytes({ upload.read(into: $0) }) {
        case .bytes(let count):
          sent += memory[..<count]
          isWaiting = false
        case .failed(let error): throw error
        case .wait where isWaiting:
          #expect(await becomes { told.withLock { $0 } > before })
          isWaiting = false
        case .wait: isWaiting = true
        }
      }

      #expect(sent == bytes)
    }

    @Test(arguments: [true, false])
    func `sends chunks of any size`(isLengthKnown: Bool) async throws {
      let server = try MockServer(answering: MockResponse.echo)
      let sizes = [1, 0, 2, 70_000, 1, 1, 0, 0, 300_000, 5, 16_384, 65_536, 262_144, 262_145, 1, 1_000_003, 0]
      let pieces = sizes.map { Self.bytes($0) }
      let whole = pieces.reduce(into: Data()) { $0.append($1) }
      let sequence = AsyncStream<Data> { source in
        for piece in pieces { source.yield(piece) }
        source.finish()
      }

      let body = HTTPBody.stream(sequence, length: isLengthKnown ? Int64(whole.count) : nil)
      let response = try await client.post(RequestTarget(server.url), body: body)

      #expect(response.body == whole)
      #expect(server.requests.first?.headers(named: "Content-Length") == (isLengthKnown ? ["\(whole.count)"] : []))
      // The body exceeds 1 MiB: see `ExpectContinueTests`.
      #expect(server.requests.first?.headers(named: "Expect") == (isLengthKnown ? ["100-continue"] : []))
    }

    @Test func `sends 100,000 chunks of one byte`() async throws {
      let server = try MockServer(answering: MockResponse.echo)
      let pieces = UploadPieces(Data([7]), count: 100_000)

      let response = try await client.post(RequestTarget(server.url), body: .stream(pieces, length: 100_000))

      #expect(response.body == Data(repeating: 7, count: 100_000))
    }

    @Test func `sends slices and arrays`() async throws {
      let server = try MockServer(answering: MockResponse.echo)
      let whole = Self.bytes(100_000)
      let slices = AsyncStream<Data> { source in
        for start in stride(from: 0, to: whole.count, by: 999) { source.yield(whole[start...].prefix(999)) }
        source.finish()
      }
      let arrays = AsyncStream<[UInt8]> { source in
        source.yield([1, 2])
        source.yield([3])
        source.finish()
      }

      #expect(try await client.post(RequestTarget(server.url), body: .stream(slices)).body == whole)
      #expect(try await client.post(RequestTarget(server.url), body: .stream(arrays)).body == Data([1, 2, 3]))
    }

    @Test func `a response body can be the source of an upload`() async throws {
      let data = Self.bytes(3_000_000)
      let origin = try MockServer(.data(data))
      let target = try MockServer(answering: MockResponse.echo)

      let copied = try await client.stream(.get(RequestTarget(origin.url))) { response in
        try await client.put(RequestTarget(target.url), body: .stream(response.body, length: 3_000_000)).body
      }

      #expect(copied == data)
    }

    @Test func `reports the number of bytes sent`() async throws {
      let server = try MockServer(.ok())
      for length in [nil, 500_000] as [Int64?] {
        let pieces = UploadPieces(Data(count: 1000), count: 500)

        let handle = client.start(.post(RequestTarget(server.url), body: .stream(pieces, length: length)))
        _ = try await handle.value

        var last = TransferProgress()
        for await progress in handle.progress { last = progress }
        #expect(last.sent == 500_000)
        #expect(last.expectedToSend == length)
      }
    }

    // MARK: Backpressure

    @Test func `a server that stops reading stops the source`() async throws {
      let server = try MockServer(
        .steps([.hang]).withoutReadingBody(pausesReading: true), options: .init(keepsBodies: false))
      defer { server.stop() }
      let pieces = UploadPieces(Data(count: 64 << 10), count: 1024)
      let handle = client.start(.post(RequestTarget(server.url), body: .stream(pieces, length: 64 << 20)))
      _ = await server.waitForRequests(1)

      // Waits until the system's buffers are full.
      var before = -1
      while before != pieces.takenBytes {
        before = pieces.takenBytes
        try await Task.sleep(for: .milliseconds(300))
      }
      var sent: Int64 = 0
      for await progress in handle.progress {
        sent = progress.sent
        break
      }

      #expect(pieces.takenBytes < 32 << 20)
      #expect(pieces.takenBytes - Int(sent) <= UploadBuffer.capacity + (64 << 10))
      handle.cancel()
    }

    @Test func `a slow server throttles the source, and all bytes arrive`() async throws {
      let plan = ConnectionPlan.slowReading(bytes: 1 << 17, every: .milliseconds(1))
      let server = try MockServer(.ok("got it"), options: .init(keepsBodies: false, onConnect: { _ in plan }))
      let count = isSanitized ? 60 : 480
      let pieces = UploadPieces(Data(count: 100_000), count: count)
      let ahead = Locked(0)

      let watcher = Task {
        while !Task.isCancelled {
          let taken = pieces.takenBytes
          if let sent = client.activity.current.running.first?.progress.sent {
            ahead.withLock { $0 = max($0, taken - Int(sent)) }
          }
          try await Task.sleep(for: .milliseconds(1))
        }
      }
      let response = try await client.post(RequestTarget(server.url), body: .stream(pieces))
      watcher.cancel()

      #expect(response.text == "got it")
      #expect(server.requests.first?.bodyLength == count * 100_000)
      // The margin covers the system's socket buffers, whose size is not known.
      #expect(ahead.withLock { $0 } <= UploadBuffer.capacity + (1 << 20))
    }

    @Test func `a slow source is subject only to the total limit`() async throws {
      let server = try MockServer(.ok("got it"), options: .init(keepsBodies: false))
      let other = try MockServer(.ok())
      let clock = TestClock(advancing: .manually)
      let client = client.derived { $0.clock = clock }
      let (slow, source) = AsyncStream.makeStream(of: Data.self)
      let sent = Shared<Int64>(0)
      let options = RequestOptions.timeout(TimeoutPolicy(idle: .seconds(600), total: nil)).onProgress { now in
        sent.withLock { $0 = now.sent }
      }
      let task = Task { try await client.post(RequestTarget(server.url), body: .stream(slow), options: options) }

      for _ in 0..<2 {
        let before = sent.value
        source.yield(Data(count: 1000))
        await sent.wait { $0 > before }
        // Meanwhile, the loop finds that there are no more bytes.
        for _ in 0..<3 { _ = try await client.get(RequestTarget(other.url)) }
        // Nothing is transferred for longer than the idle limit.
        clock.advance(by: .seconds(700))
        try await Task.sleep(for: .milliseconds(20))
      }
      source.finish()
      // The body is complete, so the idle limit would apply from now on.
      #expect(try await task.joined.text == "got it")

      let total = RequestOptions.timeout(TimeoutPolicy(idle: nil, total: .seconds(600)))
      let late = Task {
        try await client.post(RequestTarget(server.url), body: UploadPieces.endless().body, options: total)
      }
      #expect(await server.waitForRequests(2))
      let end = await clock.pass(.seconds(601), until: late)
      let error = #expect(throws: HTTPError.self) { try end.get() }

      #expect(error?.kind == .timedOut)
    }

    @Test func `sends 32 MiB from a source that pauses`() async throws {
      let server = try MockServer(.ok(), options: .init(keepsBodies: false))
      let pieces = UploadPieces(Data(count: 1 << 20), count: 32, pause: .milliseconds(2))

      _ = try await client.post(RequestTarget(server.url), body: .stream(pieces, length: 32 << 20))

      #expect(server.requests.first?.bodyLength == 32 << 20)
    }

    // MARK: Bidirectional transfers

    @Test func `a server can respond to each chunk before the next one is sent`() async throws {
      let server = try MockServer(.echoWhileReading)
      let (pieces, source) = AsyncStream.makeStream(of: Data.self)
      source.yield(Data("0".utf8))

      let received = try await client.stream(.post(RequestTarget(server.url), body: .stream(pieces))) { response in
        var received: [String] = []
        for try await piece in response.body {
          received.append(String(decoding: piece, as: UTF8.self))
          if received.count < 100 { source.yield(Data("\(received.count)".utf8)) } else { source.finish() }
        }
        return received
      }

      #expect(received == (0..<100).map(String.init))
      #expect(server.connectionCount == 1)
    }

    @Test func `uploads and downloads 20 MB concurrently with a reader that pauses`() async throws {
      let server = try MockServer(.echoWhileReading, options: .init(keepsBodies: false))
      let pieces = UploadPieces(Data(repeating: 9, count: 50_000), count: 400)

      let count = try await client.stream(.post(RequestTarget(server.url), body: .stream(pieces))) { response in
        var count = 0
        for try await piece in response.body {
          count += piece.count
          if count % 7 == 0 { try await Task.sleep(for: .milliseconds(1)) }
        }
        return count
      }

      #expect(count == 20_000_000)
    }

    @Test func `abandoning the response ends the source`() async throws {
      let server = try MockServer(.echoWhileReading)
      let (body, isGone) = UploadPieces.endless()

      let first = try await client.stream(.post(RequestTarget(server.url), body: body)) { response in
        var pieces = response.body.makeAsyncIterator()
        return try await pieces.next()
      }

      #expect(first == Data("begin".utf8))
      #expect(await server.wait { _ in isGone() })
      #expect(await server.waitForOpenConnections(atMost: 0))
    }

    // MARK: Concurrent uploads

    @Test func `20 concurrent uploads do not interfere`() async throws {
      let server = try MockServer(answering: MockResponse.echo)
      let client = client.derived { $0.maximumConnectionsPerHost = 20 }
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<20 {
          group.addTask {
            let piece = Data(repeating: UInt8(number), count: 7919 + number)
            let pieces = UploadPieces(piece, count: 50, pause: number % 3 == 0 ? .milliseconds(1) : nil)
            let length = number % 2 == 0 ? Int64(piece.count * 50) : nil
            let response = try await client.post(RequestTarget(server.url), body: .stream(pieces, length: length))
            return response.body == (0..<50).reduce(into: Data()) { whole, _ in whole.append(piece) }
          }
        }
        for try await isRight in group { #expect(isRight) }
      }
    }

    @Test func `randomly cancelled uploads leave no running requests`() async throws {
      let server = try MockServer(.echoWhileReading)
      let client = client.derived { $0.maximumConnectionsPerHost = 20 }
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<100 {
          group.addTask {
            let task = Task {
              let pieces = UploadPieces(Data(count: 5000), count: 200, pause: .microseconds(100))
              return try await client.post(RequestTarget(server.url), body: .stream(pieces))
            }
            try? await Task.sleep(for: .microseconds(number * 1500))
            task.cancel()
            _ = await task.result
          }
        }
      }
      await client.waitUntilEmpty()
      #expect(await server.waitForOpenConnections(atMost: 20))
    }

    // MARK: Files and memory

    @Test func `uploads a file that is not in the page cache`() async throws {
      let server = try MockServer(answering: MockResponse.echo)
      let data = Self.bytes(3_000_001)
      let folder = try TemporaryFolder()
      defer { folder.remove() }
      let file = try folder.write(data, to: "file")
      let handle = try FileHandle(forReadingFrom: file)
      fsync(handle.fileDescriptor)
      // The call has no effect if files are stored in memory.
      posix_fadvise(handle.fileDescriptor, 0, 0, POSIX_FADV_DONTNEED)
      try handle.close()

      #expect(try await client.post(RequestTarget(server.url), body: .file(file)).body == data)
    }

    @Test(.needs(.proc)) func `an in-memory body is not copied as a whole`() async {
      await #expect(processExitsWith: .success) {
        let server = try MockServer(.ok(), options: .init(keepsBodies: false))
        let client = HTTPClient { $0.transport = .curl }
        _ = try await client.post(RequestTarget(server.url), body: .data(Data(count: 1 << 20)))
        let data = Data(repeating: 1, count: Stress.count(80 << 20, full: 256 << 20))
        let before = ProcessFacts.residentBytes
        let peak = Locked(0)
        let watcher = Task {
          while !Task.isCancelled {
            peak.withLock { $0 = max($0, ProcessFacts.residentBytes) }
            try await Task.sleep(for: .milliseconds(2))
          }
        }
        _ = try await client.post(RequestTarget(server.url), body: .data(data))
        watcher.cancel()
        #expect(server.requests.last?.bodyLength == data.count)
        #expect(isSanitized || peak.withLock { $0 } - before < 16 << 20)
        server.stop()
      }
    }
  }
#endif
