#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// Downloads whose process is killed or whose disk is full.
  @Suite(.ownThreads, .hangLimit) struct DownloadKillTests {
    private static func downloadUntilKilled(_ port: Int, _ path: String, _ segments: Int, after delay: Int) async throws
    {
      var options = DownloadOptions()
      options.segments = segments
      let client = Lane.curl.client()
      let killer = Shared(false)
      _ = try await client.download("http://127.0.0.1:\(port)/file.bin", to: URL(filePath: path), options: options) {
        _ in
        let isFirst = killer.withLock { killer in
          defer { killer = true }
          return !killer
        }
        guard isFirst else { return }
        Thread.detachNewThread {
          usleep(UInt32(delay))
          kill(getpid(), SIGKILL)
        }
      }
      // The download finished before the process was killed.
      kill(getpid(), SIGKILL)
    }

    @Test(arguments: [1, 3], [false, true])
    func `a download resumes after its process is killed, and the file is correct`(segments: Int, changes: Bool)
      async throws
    {
      let kills = Figures.setting("MARTLET_DOWNLOAD_KILLS") ?? (Stress.count(6, full: 50))
      let bytes = FileServer.bytes(Stress.count(8 << 20, full: 128 << 20))
      let other = FileServer.bytes(Stress.count(6 << 20, full: 90 << 20), seed: 2)
      let server = try FileServer(.init(bytes: bytes, rate: 40_000_000))
      defer { server.stop() }
      let folder = try TemporaryFolder()
      let path = folder.path("file")
      var (killed, goneOn) = (0, 0)
      var last = Int64(0)

      for round in 0..<kills where !folder.names.contains("file") {
        if changes && round == kills / 2 {
          server.change { $0 = .init(bytes: other, entityTag: "\"2\"", rate: 40_000_000) }
        }
        await #expect(processExitsWith: .signal(SIGKILL)) {
          [
            port = server.port as Int, path = path as String, segments = segments as Int,
            delay = Int.random(in: 0...25_000) as Int
          ] in
          try await DownloadKillTests.downloadUntilKilled(port, path, segments, after: delay)
        }
        killed += 1
        let left = try UnfinishedDownload.all(in: folder.url).first?.received ?? 0
        if left > last { goneOn += 1 }
        last = left
      }
      var options = DownloadOptions()
      options.segments = segments
      server.change { $0.rate = nil }
      let sent = server.sent
      if !folder.names.contains("file") {
        _ = try await Lane.curl.client().download(.get(server.target), to: URL(filePath: path), options: options)
      }

      #expect(try Data(contentsOf: URL(filePath: path)) == (changes ? other : bytes))
      #expect(folder.names == ["file"])
      Figures.record(
        "download (\(segments) at once\(changes ? ", changed midway" : "")): killed \(killed) times, further on after "
          + "\(goneOn) of them; \(server.sent) bytes sent for a file of \(bytes.count), \(sent) before the last run")
      // The number depends on the machine.
      #expect(!Stress.isOn || goneOn > killed / 20)
      // The margin covers the bytes in transit when a process was killed.
      if !changes && Stress.isOn { #expect(Double(server.sent) <= Double(bytes.count) * 1.05) }
    }

    @Test func `a full disk fails with an error that names the file, and the old file stays`() async throws {
      let server = try FileServer(.init(bytes: DownloadTests.small))
      defer { server.stop() }
      await #expect(processExitsWith: .success) { [port = server.port as Int] in
        let folder = try TemporaryFolder()
        try folder.write("old", to: "a")
        FullDiskTests.fill(at: 100_000)

        let error = await #expect(throws: HTTPError.self) {
          try await Lane.curl.client().download(
            "http://127.0.0.1:\(port)/file.bin", to: folder.url.appending(path: "a"))
        }

        #expect(error?.kind == .fileFailed && error?.message.contains("a.part cannot be written") == true)
        #expect(try folder.contents("a") == Data("old".utf8))
        FullDiskTests.empty()
        let done = try await Lane.curl.client().download(
          "http://127.0.0.1:\(port)/file.bin", to: folder.url.appending(path: "a"))
        #expect(try folder.contents("a") == DownloadTests.small)
        #expect(done.resumedAt <= 100_000)
        #expect(folder.names == ["a"])
      }
    }

    @Test func `a file larger than the free disk space is refused before its body is read`() async throws {
      let server = try FileServer(
        .init(bytes: Data(count: 100)) { head, _ in
          var head = head
          head.fields["Content-Length"] = "\(Int64.max / 2)"
          return head
        })
      defer { server.stop() }
      let folder = try TemporaryFolder()

      let error = await #expect(throws: HTTPError.self) {
        try await Lane.curl.client().download(.get(server.target), to: folder.url.appending(path: "a"))
      }
      #expect(error?.kind == .fileFailed && error?.message.contains("are free") == true)
      #expect(folder.names.isEmpty)
    }

    @Test(.needs(.proc), .needs(.nginx), arguments: Lane.engines)
    func `downloads a large file with bounded memory`(lane: Lane) async throws {
      let megabytes = Figures.setting("MARTLET_DOWNLOAD_MEGABYTES") ?? (Stress.count(32, full: 1024))
      let nginx = try await NginxServer(files: ["www/empty": ""], "location / { root www; }")
      let large = URL(filePath: nginx.path("www/large"))
      #expect(FileManager.default.createFile(atPath: large.path, contents: nil))
      let handle = try FileHandle(forWritingTo: large)
      try handle.truncate(atOffset: UInt64(megabytes) << 20)
      try handle.close()

      let child = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        [url = nginx.url as String, megabytes = megabytes as Int, lane = lane as Lane] in
        let folder = try TemporaryFolder()
        let client = lane.client()
        _ = try await client.download("\(raw: url)/empty", to: folder.url.appending(path: "empty"))
        let before = ProcessFacts.residentBytes
        let most = Shared(0)
        let start = ContinuousClock.now

        let done = try await client.download("\(raw: url)/large", to: folder.url.appending(path: "large")) { _ in
          most.withLock { $0 = max($0, ProcessFacts.residentBytes) }
        }

        let peak = (most.withLock { $0 } - before) >> 10
        Figures.record(
          "download (\(lane)): \(megabytes) MiB in \(Figures.milliseconds(ContinuousClock.now - start)), at most \(peak) KiB "
            + "more than idle")
        #expect(done.byteCount == Int64(megabytes) << 20)
        #expect(isSanitized || peak < 40 << 10)
      }
      Figures.show(child)
    }
  }
#endif
