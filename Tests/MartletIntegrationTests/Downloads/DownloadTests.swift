#if os(Linux)
  import Foundation
  import MartletBase
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// Downloads over sockets: the final file, the partial file and the bytes fetched twice.
  @Suite(.ownThreads, .hangLimit) struct DownloadTests {
    static let small = FileServer.bytes(300_000)

    private static func error(_ work: () async throws -> DownloadedFile) async throws -> HTTPError {
      try await #require(throws: HTTPError.self) { _ = try await work() }
    }

    @Test(arguments: Lane.engines)
    func `saves the complete file with its Last-Modified time and leaves no other files`(lane: Lane) async throws {
      let server = try FileServer(.init(bytes: Self.small, lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"))
      let folder = try TemporaryFolder()
      let file = folder.url.appending(path: "a.bin")

      let done = try await lane.client().download(.get(server.target), to: file)

      #expect(done.url.path == file.path && done.byteCount == 300_000 && done.resumedAt == 0)
      #expect(done.response.status == .ok && done.response.body.isEmpty)
      #expect(try Data(contentsOf: file) == Self.small)
      #expect(folder.names == ["a.bin"])
      let date = try FileManager.default.attributesOfItem(atPath: file.path)[.modificationDate] as? Date
      #expect(date == HTTPDate("Sun, 06 Nov 1994 08:49:37 GMT")?.date)
      #expect(FileServer.field("Accept-Encoding", of: server.requests[0]) == "identity")
    }

    @Test(arguments: Lane.engines)
    func `resumes after a lost connection`(lane: Lane) async throws {
      let server = try FileServer(.init(bytes: Self.small, cutsAfter: 120_000))
      let folder = try TemporaryFolder()
      let file = folder.url.appending(path: "a.bin")
      try folder.write("old", to: "a.bin")

      let error = try await Self.error { try await lane.client().download(.get(server.target), to: file) }
      #expect(error.kind == .connectionLost)
      #expect(try folder.contents("a.bin") == Data("old".utf8))
      #expect(folder.names == ["a.bin", "a.bin.part", "a.bin.part.json"])
      let left = try UnfinishedDownload.all(in: folder.url)
      #expect(left.count == 1 && left.first?.name == "a.bin" && left.first?.expected == 300_000)
      let received = try #require(left.first?.received)
      #expect(received > 0 && received <= 120_000)

      server.change { $0.cutsAfter = nil }
      let first = Shared<[TransferProgress]>([])
      let done = try await lane.client().download(.get(server.target), to: file) { now in
        first.withLock { $0.append(now) }
      }

      #expect(done.resumedAt == received && done.byteCount == 300_000 && done.response.status == 206)
      #expect(server.ranges == [nil, "bytes=\(received)-"])
      #expect(FileServer.field("If-Range", of: server.requests[1]) == "\"1\"")
      #expect(try Data(contentsOf: file) == Self.small)
      #expect(folder.names == ["a.bin"])
      let progress = first.withLock { $0 }
      #expect(progress.first?.received == received && progress.last?.fraction == 1)
      #expect(try UnfinishedDownload.all(in: folder.url).isEmpty)
    }

    @Test(arguments: Lane.engines)
    func `each retry resumes where the last attempt stopped`(lane: Lane) async throws {
      let server = try FileServer(.init(bytes: Self.small, cutsAfter: 100_000))
      let folder = try TemporaryFolder()
      let client = lane.client { $0.retry = .backoff(attempts: 5, initialDelay: .milliseconds(1)) }

      let done = try await client.download(.get(server.target), to: folder.url.appending(path: "a"))

      #expect(try Data(contentsOf: done.url) == Self.small)
      #expect(server.requests.count >= 3 && server.sent <= 300_000 + 4 * 65_536)
      #expect(done.resumedAt == 0)
    }

    @Test(arguments: Lane.engines)
    func `restarts from the beginning if the file has changed on the server`(lane: Lane) async throws {
      let server = try FileServer(.init(bytes: Self.small, cutsAfter: 120_000))
      let folder = try TemporaryFolder()
      let file = folder.url.appending(path: "a.bin")
      _ = try await Self.error { try await lane.client().download(.get(server.target), to: file) }

      let other = FileServer.bytes(250_000, seed: 2)
      server.change { $0 = .init(bytes: other, entityTag: "\"2\"") }
      let done = try await lane.client().download(.get(server.target), to: file)

      #expect(done.resumedAt == 0 && done.byteCount == 250_000)
      #expect(try Data(contentsOf: file) == other)
      #expect(folder.names == ["a.bin"])
    }

    @Test(
      arguments: Lane.engines,
      [
        "a wrong start", "no Content-Range", "another size", "another tag", "another length", "many parts",
        "more than asked",
      ])
    func `discards an inconsistent 206 response and restarts`(lane: Lane, lie: String) async throws {
      let server = try FileServer(.init(bytes: Self.small, cutsAfter: 120_000))
      let folder = try TemporaryFolder()
      let file = folder.url.appending(path: "a.bin")
      _ = try await Self.error { try await lane.client().download(.get(server.target), to: file) }

      server.change {
        $0.cutsAfter = nil
        $0.head = { head, _ in
          guard head.status == 206 else { return head }
          var head = head
          let (first, last) = (head.body.lowerBound, head.body.upperBound - 1)
          switch lie {
          case "a wrong start":
            head.body = 7..<300_000
            head.fields["Content-Range"] = "bytes 7-299999/300000"
          case "no Content-Range": head.fields["Content-Range"] = nil
          case "another size": head.fields["Content-Range"] = "bytes \(first)-\(last)/400000"
          case "another tag": head.fields["ETag"] = "\"3\""
          case "another length": head.fields["Content-Range"] = "bytes \(first)-\(last - 10)/300000"
          case "many parts":
            head.fields["Content-Range"] = nil
            head.fields["Content-Type"] = "multipart/byteranges; boundary=x"
          default: head.fields["Content-Range"] = "bytes \(first)-\(last)/\(last)"
          }
          head.fields["Content-Length"] = "\(head.body.count)"
          return head
        }
      }
      let done = try await lane.client().download(.get(server.target), to: file)

      #expect(done.resumedAt == 0)
      #expect(try Data(contentsOf: file) == Self.small)
      #expect(server.ranges.last == .some(nil))
    }

    @Test(arguments: Lane.engines)
    func `a 206 response to a request without Range is an error`(lane: Lane) async throws {
      let server = try FileServer(
        .init(bytes: Self.small) { head, _ in
          var head = head
          head.status = 206
          head.fields["Content-Range"] = "bytes 0-299999/300000"
          return head
        })
      let folder = try TemporaryFolder()

      let error = try await Self.error {
        try await lane.client().download(.get(server.target), to: folder.url.appending(path: "a"))
      }
      #expect(error.kind == .protocolViolation && error.message.contains("206"))
      #expect(folder.names.isEmpty)
    }

    @Test(arguments: Lane.engines)
    func `resumes a file of unknown length and detects its end`(lane: Lane) async throws {
      let server = try FileServer(.init(bytes: Self.small, saysLength: false, cutsAfter: 300_000))
      let folder = try TemporaryFolder()
      let file = folder.url.appending(path: "a")
      // Without a length, any end of the connection looks like the end of the body, so the test creates the part file.
      let part = folder.url.appending(path: "a.part")
      try Self.small.prefix(100_000).write(to: part)
      var record = PartRecord(url: server.url)
      record.entityTag = "\"1\""
      record.boot = BootID.current
      try PrivateFile.replace(part.path + ".json", with: try JSONEncoder().encode(record))

      let done = try await lane.client().download(.get(server.target), to: file)

      #expect(done.resumedAt == 100_000)
      #expect(try Data(contentsOf: file) == Self.small)
      #expect(server.ranges == ["bytes=100000-", "bytes=300000-"] || server.ranges == ["bytes=100000-"])
    }

    @Test(arguments: Lane.engines, [200, 204])
    func `an empty body creates an empty file`(lane: Lane, status: Int) async throws {
      let server = try MockServer(.empty(status, headers: status == 200 ? ["Content-Length": "0"] : [:]))
      let folder = try TemporaryFolder()

      let done = try await lane.client().download(.get(RequestTarget(server.url)), to: folder.url.appending(path: "a"))

      #expect(done.byteCount == 0)
      #expect(try folder.contents("a").isEmpty && folder.names == ["a"])
    }

    @Test(arguments: Lane.engines, [404, 500, 304, 301])
    func `an unsuccessful status leaves the destination and the partial download unchanged`(lane: Lane, status: Int)
      async throws
    {
      let server = try FileServer(.init(bytes: Self.small, cutsAfter: 120_000))
      let folder = try TemporaryFolder()
      try folder.write("old", to: "a.bin")
      let file = folder.url.appending(path: "a.bin")
      _ = try await Self.error { try await lane.client().download(.get(server.target), to: file) }
      let part = try folder.contents("a.bin.part")

      server.change {
        $0.cutsAfter = nil
        $0.head = { _, _ in .init(status: status, fields: ["Content-Length": "4"], body: status == 304 ? 0..<0 : 0..<4)
        }
      }
      let error = try await Self.error { try await lane.client().download(.get(server.target), to: file) }

      #expect(error.kind == .status && error.status?.rawValue == status)
      #expect(try folder.contents("a.bin") == Data("old".utf8))
      #expect(try folder.contents("a.bin.part") == part)

      server.change { $0.head = nil }
      let done = try await lane.client().download(.get(server.target), to: file)
      #expect(done.resumedAt == Int64(part.count))
      #expect(try Data(contentsOf: file) == Self.small)
    }

    @Test(arguments: Lane.engines)
    func `a cancelled download stops and can be resumed`(lane: Lane) async throws {
      // At this rate, the download takes 30 s.
      let bytes = FileServer.bytes(2_400_000)
      let server = try FileServer(.init(bytes: bytes, rate: 80_000))
      let folder = try TemporaryFolder()
      let file = folder.url.appending(path: "a.bin")
      let client = lane.client { $0.options = .timeout(.unlimited) }

      let received = Shared<Int64>(0)
      let handle = client.startDownload(.get(server.target), to: file) { now in received.withLock { $0 = now.received }
      }
      await received.wait { $0 > 0 }
      handle.cancel()
      await #expect(throws: CancellationError.self) { try await handle.value }
      await client.waitUntilEmpty()
      let sent = server.sent
      #expect(sent < 2_400_000)

      server.change { $0.rate = nil }
      let again = try await handle.retry().value
      #expect(again.resumedAt > 0)
      #expect(try Data(contentsOf: file) == bytes)
      #expect(folder.names == ["a.bin"])
    }

    @Test func `rejects a second download to the same file`() async throws {
      let server = try FileServer(.init(bytes: Self.small, rate: 1_000))
      let folder = try TemporaryFolder()
      let file = folder.url.appending(path: "a.bin")
      let client = Lane.curl.client { $0.options = .timeout(.unlimited) }

      let handle = client.startDownload(.get(server.target), to: file)
      #expect(await becomes { server.sent > 0 })
      let error = try await Self.error { try await client.download(.get(server.target), to: file) }
      #expect(error.kind == .downloadInProgress && error.message.contains("is already being downloaded"))
      server.change { $0.rate = nil }
      _ = try await handle.value
      #expect(try Data(contentsOf: file) == Self.small)
      #expect(server.requests.count == 1)
    }

    @Test(arguments: Lane.engines)
    func `takes a safe file name from the server and replaces no existing file`(lane: Lane) async throws {
      let server = try FileServer(
        .init(bytes: Self.small) { head, _ in
          var head = head
          head.fields["Content-Disposition"] = #"attachment; filename="../../evil.txt""#
          return head
        })
      let folder = try TemporaryFolder()
      try folder.write("mine", to: "evil.txt")

      let one = try await lane.client().download(.get(server.target), to: folder.url)
      let two = try await lane.client().download(.get(server.target), to: folder.url)

      #expect(one.url.lastPathComponent == "evil (1).txt" && two.url.lastPathComponent == "evil (2).txt")
      #expect(folder.names == ["evil (1).txt", "evil (2).txt", "evil.txt"])
      #expect(try folder.contents("evil.txt") == Data("mine".utf8))
    }

    @Test func `without a destination, uses the temporary folder and leaves nothing after a failure`()
      async throws
    {
      let server = try FileServer(.init(bytes: Self.small))
      defer { server.stop() }
      // `TMPDIR` applies to the whole process, so the test runs in a separate one.
      await #expect(processExitsWith: .success) { [port = server.port as Int] in
        let folder = try TemporaryFolder()
        setenv("TMPDIR", folder.url.path, 1)
        let client = Lane.curl.client()
        let target: RequestTarget = "http://127.0.0.1:\(port)/file.bin"

        let done = try await client.download(.get(target))
        #expect(try Data(contentsOf: done.url) == DownloadTests.small)
        #expect(folder.names == [done.url.lastPathComponent])
        try FileManager.default.removeItem(at: done.url)

        var options = DownloadOptions()
        options.maximumBytes = 100_000
        await #expect(throws: HTTPError.self) { try await client.download(.get(target), options: options) }
        #expect(folder.names == [])
      }
    }

    @Test(arguments: Lane.engines)
    func `downloads a large file in segments without fetching a byte twice`(lane: Lane) async throws {
      let bytes = FileServer.bytes(24 << 20)
      let server = try FileServer(.init(bytes: bytes))
      let folder = try TemporaryFolder()
      var options = DownloadOptions()
      options.segments = 4

      let done = try await lane.client().download(
        .get(server.target), to: folder.url.appending(path: "a"), options: options)

      #expect(try Data(contentsOf: done.url) == bytes)
      #expect(server.sent == Int64(bytes.count))
      #expect(server.requests.count == 6 && server.ranges.allSatisfy { $0 != nil })
      #expect(folder.names == ["a"])
    }

    @Test(arguments: Lane.engines, ["no ranges", "no tag", "changes"])
    func `a segmented download is correct without ranges, without an ETag and after a change`(lane: Lane, why: String)
      async throws
    {
      let bytes = FileServer.bytes(12 << 20)
      let server = try FileServer(.init(bytes: bytes))
      let other = FileServer.bytes(10 << 20, seed: 2)
      switch why {
      case "no ranges": server.change { $0.servesRanges = false }
      case "no tag": server.change { $0.entityTag = nil }
      default:
        server.change {
          $0.head = { [weak server] head, _ in
            if head.body.lowerBound >= 4 << 20 { server?.change { $0 = .init(bytes: other, entityTag: "\"2\"") } }
            return head
          }
        }
      }
      let folder = try TemporaryFolder()
      var options = DownloadOptions()
      options.segments = 3

      let done = try await lane.client().download(
        .get(server.target), to: folder.url.appending(path: "a"), options: options)

      // The comparison is outside `#expect`, which would search for the difference of megabytes. After a change, the
      // old version is right as well, because all requests may have preceded the change.
      let content = try Data(contentsOf: done.url)
      let isRight = content == bytes || why == "changes" && content == other
      #expect(isRight)
    }

    @Test(arguments: Lane.engines)
    func `a checksum mismatch keeps the old file, and the next download starts over`(lane: Lane) async throws {
      let server = try FileServer(.init(bytes: Self.small))
      let folder = try TemporaryFolder()
      try folder.write("old", to: "a")
      let file = folder.url.appending(path: "a")
      var options = DownloadOptions()
      options.checksum = .sha256(String(repeating: "0", count: 64))

      let error = try await Self.error {
        try await lane.client().download(.get(server.target), to: file, options: options)
      }
      #expect(error.kind == .checksumMismatch && error.message.contains("000"))
      #expect(try folder.contents("a") == Data("old".utf8))

      // A rejected part file is not resumed.
      options.checksum = .sha256(SHA2.sha256(Self.small).hexadecimal)
      let done = try await lane.client().download(.get(server.target), to: file, options: options)
      #expect(done.resumedAt == 0 && server.ranges == [nil, nil])
      #expect(try Data(contentsOf: file) == Self.small)
    }

    @Test(arguments: Lane.engines, [true, false])
    func `verifies the Repr-Digest field of the server`(lane: Lane, isRight: Bool) async throws {
      let digest = Data(SHA2.sha256(isRight ? Self.small : Data())).base64EncodedString()
      let server = try FileServer(
        .init(bytes: Self.small) { head, _ in
          var head = head
          head.fields["Repr-Digest"] = "sha-512=:AAAA:, sha-256=:\(digest):"
          return head
        })
      let folder = try TemporaryFolder()

      do {
        _ = try await lane.client().download(.get(server.target), to: folder.url.appending(path: "a"))
        #expect(isRight)
      } catch let error as HTTPError {
        #expect(!isRight && error.kind == .checksumMismatch)
      }
    }

    @Test func `links to or resumes from a response in the disk cache without a request`() async throws {
      let bytes = FileServer.bytes(3 << 20)
      let server = try FileServer(
        .init(bytes: bytes) { head, _ in
          var head = head
          head.fields["Cache-Control"] = "max-age=600"
          head.fields["Date"] = nil
          return head
        })
      let folder = try TemporaryFolder()
      let directory = folder.url.appending(path: "cache")
      let client = Lane.curl.client { $0.cache = .disk(directory, bytes: 100 << 20) }
      let stored = try await client.get(server.target)
      #expect(await becomes { (try? await client.cache.usage.records) == 1 })
      let body = try #require(try await client.get(server.target).bodyFile)

      let linked = try await client.download(.get(server.target), to: folder.url.appending(path: "a"))
      let again = try await client.download(.get(server.target), to: folder.url.appending(path: "a"))
      func inode(_ url: URL) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: url.path)[.systemFileNumber] as? Int
      }
      #expect(try inode(linked.url) == inode(body) && linked.response.source == .cache)
      #expect(try Data(contentsOf: again.url) == bytes && stored.body == bytes)

      // The stored response completes a part file as well.
      let part = folder.url.appending(path: "b.part")
      try bytes.prefix(1 << 20).write(to: part)
      var record = PartRecord(url: server.url)
      record.entityTag = "\"1\""
      record.boot = BootID.current
      record.length = Int64(bytes.count)
      try PrivateFile.replace(part.path + ".json", with: try JSONEncoder().encode(record))
      let resumed = try await client.download(.get(server.target), to: folder.url.appending(path: "b"))

      #expect(try Data(contentsOf: resumed.url) == bytes && resumed.resumedAt == 1 << 20)
      #expect(server.requests.count == 1)
      #expect(folder.names == ["a", "b", "cache"])
    }

    @Test func `a damaged part record never corrupts the file`() async throws {
      let server = try FileServer(.init(bytes: Self.small))
      let client = Lane.curl.client()
      let folder = try TemporaryFolder()
      var record = PartRecord(url: server.url)
      record.entityTag = "\"1\""
      record.boot = BootID.current
      record.length = Int64(Self.small.count)
      record.isSequential = false
      record.written = ByteSpans(upTo: 50_000)
      record.written.insert(100_000..<150_000)
      let encoder = JSONEncoder()
      // Without sorted keys, the same seed would damage different bytes each time.
      encoder.outputFormatting = .sortedKeys
      let text = try encoder.encode(record)
      var random = SeededGenerator(seed: 20)
      var resumed = 0
      for round in 0..<Stress.count(40, full: 150) {
        var damaged = text
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          let index = Int.random(in: 0..<damaged.count, using: &random)
          switch Int.random(in: 0..<4, using: &random) {
          case 0: damaged = damaged.prefix(max(1, index))
          case 1: damaged[index] = UInt8.random(in: 0...255, using: &random)
          case 2: damaged.insert(contentsOf: "-9223372036854775808".utf8, at: index)
          default: damaged[index] = UInt8.random(in: 0x30...0x39, using: &random)
          }
        }
        // Simulates a record that was damaged by a crash or by hand, while the downloaded bytes are intact.
        let part = folder.url.appending(path: "a.part")
        try Self.small.prefix(150_000).write(to: part)
        try PrivateFile.replace(part.path + ".json", with: damaged)
        do {
          let done = try await client.download(.get(server.target), to: folder.url.appending(path: "a"))
          if done.resumedAt > 0 { resumed += 1 }
          let isRight = try Data(contentsOf: done.url) == Self.small
          #expect(isRight, "\(round): \(String(decoding: damaged, as: UTF8.self))")
        } catch {
          // The damaged record seems to belong to another URL.
          #expect((error as? HTTPError)?.kind == .fileFailed, "\(round): \(error)")
          try FileManager.default.removeItem(at: part)
        }
      }
      #expect(isSanitized || resumed > 0)
    }
  }
#endif
