#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet
  @testable import MartletOutbox

  /// Outboxes whose processes exit or are killed.
  @Suite(.ownThreads, .hangLimit) struct OutboxProcessTests {
    private static var options: Outbox.Options {
      var options = Outbox.Options()
      (options.initialDelay, options.maximumDelay) = (.milliseconds(5), .milliseconds(50))
      // A small limit causes frequent compaction.
      options.compactBytes = 4096
      return options
    }

    private static let lanes = ["a", "b", "c"]

    /// Submits until the process is killed, and records the stored requests in a separate file.
    ///
    /// In even rounds, the process is killed after the first request is stored; in odd rounds, at any time after
    /// opening begins.
    private static func submitUntilKilled(_ folder: String, _ port: Int, _ round: Int, after delay: Int) async throws {
      func killSoon() {
        Thread.detachNewThread {
          usleep(UInt32(delay))
          kill(getpid(), SIGKILL)
        }
      }
      let isOpening = round % 2 == 1
      if isOpening { killSoon() }
      let outbox = try await Lane.curl.client().outbox(at: URL(filePath: folder + "/box"), options: options)
      let safe = open(folder + "/safe", O_WRONLY | O_CREAT | O_APPEND, 0o600)
      for number in 0..<100_000 {
        let lane = lanes[number % lanes.count]
        // Some bodies are large enough to be stored in a separate file.
        let text = "\(round).\(number)" + (number % 7 == 0 ? String(repeating: "x", count: 70_000) : "")
        try await outbox.submit(
          .post("http://127.0.0.1:\(port)/", headers: ["X-Lane": lane], body: .text(text)), key: lane)
        let line = "\(lane) \(round).\(number)\n"
        _ = line.withCString { write(safe, $0, strlen($0)) }
        if number == 0, !isOpening { killSoon() }
      }
    }

    private static func submitAndKill(_ path: String, _ port: Int, _ round: Int, after delay: Int) async {
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [path = path as String, port = port as Int, round = round as Int, delay = delay as Int] in
        try await OutboxProcessTests.submitUntilKilled(path, port, round, after: delay)
      }
    }

    private struct Place: Comparable {
      let round: Int
      let number: Int

      init?(_ text: String) {
        let words = text.prefix { $0 != "x" }.split(separator: ".").compactMap { Int($0) }
        guard words.count == 2 else { return nil }
        (round, number) = (words[0], words[1])
      }

      static func < (one: Place, other: Place) -> Bool { (one.round, one.number) < (other.round, other.number) }
    }

    @Test(.needs(.python))
    func `each submitted request is applied once and in order when sender or server is killed`() async throws {
      let kills = Figures.setting("MARTLET_OUTBOX_KILLS") ?? (Stress.count(20, full: 200))
      let server = try await ApplyingServer()
      let folder = try TemporaryFolder()
      let (path, port) = (folder.url.path, server.port)
      var serverKills = 0
      var random = SystemRandomNumberGenerator()

      for round in 0..<(kills * 3 / 4) {
        let delay = Int.random(in: 0...(isSanitized ? 400_000 : 40_000), using: &random)
        async let child: Void = Self.submitAndKill(path, port, round, after: delay)
        // Two processes run at the same time, but only one sends.
        async let other: Void = round % 4 == 1 ? Self.submitAndKill(path, port, round + 1000, after: delay / 2) : ()
        if round % 3 == 0 {
          try await Task.sleep(for: .microseconds(Int.random(in: 0...150_000, using: &random)))
          try await server.crash()
          serverKills += 1
        }
        _ = await (child, other)
      }
      // An outbox that is not killed delivers the remaining requests.
      let outbox = try await Lane.curl.client().outbox(at: folder.url.appending(path: "box"), options: Self.options)
      let left = outbox.status.pending
      #expect(await becomes(every: .milliseconds(20)) { outbox.status.pending == 0 })

      let safe = String(decoding: (try? folder.contents("safe")) ?? Data(), as: UTF8.self).split(separator: "\n")
      let applied = server.applied
      Figures.record(
        "outbox: \(kills * 3 / 4) senders and \(serverKills) servers killed; \(safe.count) safe, \(applied.count) "
          + "applied, \(left) of them after the last kill; \(outbox.status.damaged) damaged, \(outbox.status.dead) dead"
      )
      #expect(!safe.isEmpty && outbox.status.damaged == 0)
      let dead = try await outbox.deadLetters()
      #expect(dead.isEmpty, "\(dead.map(\.failure))")
      for lane in Self.lanes {
        let places = applied.filter { $0.lane == lane }.map { Place($0.text) }
        let known = places.compactMap { $0 }
        let promised = Set(safe.filter { $0.hasPrefix(lane) }.map { String($0.dropFirst(2)) })
        #expect(known.count == places.count)
        // Each request was applied once, in the order in which its process submitted it.
        for (round, places) in Dictionary(grouping: known, by: \.round) {
          let isInOrder = zip(places, places.dropFirst()).allSatisfy { $0 < $1 }
          #expect(isInOrder, "\(lane), \(round)")
        }
        let missing = promised.subtracting(known.map { "\($0.round).\($0.number)" })
        #expect(missing.isEmpty, "\(lane): \(missing.count) of \(promised.count) are missing")
      }
      // The bodies are complete as well.
      let isWhole = applied.allSatisfy { item in
        guard let place = Place(item.text) else { return false }
        return item.text.hasSuffix(place.number % 7 == 0 ? "x70000" : "x0")
      }
      #expect(isWhole)
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path("box"))) ?? []
      #expect(Set(names).isSubset(of: ["journal", "lock", "lease"]), "\(names)")
    }

    @Test func `another process takes over when the sending process is killed`() async throws {
      let server = try MockServer { request in
        if request.header("X-Lane") == "slow" { try? await Task.sleep(for: .seconds(30)) }
        return .ok()
      }
      defer { server.stop() }
      let folder = try TemporaryFolder()
      let box = folder.url.appending(path: "box")
      async let child: Void = {
        await #expect(processExitsWith: .signal(SIGKILL)) {
          [path = box.path as String, url = server.url as String, note = folder.path("pid") as String] in
          let outbox = try await Lane.curl.client().outbox(at: URL(filePath: path))
          try Data("\(getpid())".utf8).write(to: URL(filePath: note), options: .atomic)
          try await outbox.submit(.post(RequestTarget(url), headers: ["X-Lane": "slow"]))
          for number in 0..<5 { try await outbox.submit(.post(RequestTarget(url), body: .text("\(number)"))) }
          try await Task.sleep(for: .seconds(600))
        }
      }()
      #expect(await becomes(every: .milliseconds(5)) { server.requests.count >= 6 })
      let pid = try #require(pid_t(String(decoding: try folder.contents("pid"), as: UTF8.self)))
      let standby: Outbox
      do {
        defer { kill(pid, SIGKILL) }
        standby = try await Lane.curl.client().outbox(at: box)
        #expect(!standby.status.isSender && standby.status.pending >= 1)
        let own = try await standby.submit(.post(RequestTarget(server.url), body: .text("own")))
        // The other process learns of the request and sends it.
        #expect(await becomes { server.requests.contains { $0.header("Idempotency-Key") == "\"\(own.uuidString)\"" } })
        #expect(!standby.status.isSender)
      }
      await child

      #expect(await becomes { standby.status.isSender })
      #expect(await becomes { server.requests.count { $0.header("X-Lane") == "slow" } >= 2 })
      let keys = Set(server.requests.filter { $0.header("X-Lane") == "slow" }.map { $0.header("Idempotency-Key") })
      #expect(keys.count == 1)
      await standby.close(within: .zero)
    }

    @Test func `a full disk rejects new submissions, and stored requests are delivered`() async throws {
      try TemporaryFolder.requireRoom()
      let server = try MockServer(.ok())
      defer { server.stop() }
      await #expect(processExitsWith: .success) { [url = server.url as String] in
        let folder = try TemporaryFolder()
        var options = Outbox.Options()
        options.connectivity = Offline()
        let waiting = try await Lane.curl.client().outbox(at: folder.url.appending(path: "box"), options: options)
        try await waiting.submit(.post(RequestTarget(url), body: .text("first")))
        FullDiskTests.fill(at: 20_000)
        for size in [40_000, 100_000] {
          let error = await #expect(throws: HTTPError.self) {
            try await waiting.submit(.post(RequestTarget(url), body: .data(Data(count: size))))
          }
          #expect(error?.kind == .fileFailed && error?.message.contains("cannot be written") == true)
        }
        #expect(waiting.status.pending == 1)
        FullDiskTests.empty()
        try await waiting.submit(.post(RequestTarget(url), body: .text("second")))
        await waiting.close()
        let outbox = try await Lane.curl.client().outbox(at: folder.url.appending(path: "box"))
        let status = outbox.status
        #expect(status.pending + status.delivered == 2 && status.damaged == 0)
        await outbox.waitUntilIdle()
        #expect(outbox.status.delivered == 2)
      }
      #expect(Set(server.requests.map(\.text)) == ["first", "second"])
    }

    @Test func `a disk that is full at delivery causes no duplicate request`() async throws {
      try TemporaryFolder.requireRoom()
      let server = try MockServer(.ok())
      defer { server.stop() }
      await #expect(processExitsWith: .success) { [url = server.url as String] in
        let folder = try TemporaryFolder()
        let box = folder.url.appending(path: "box")
        var options = Self.options
        options.limits = .concurrent(1)
        let waiting = try await Lane.curl.client().outbox(at: box, options: Self.offline(options))
        for number in 0..<4 { try await waiting.submit(.post(RequestTarget(url), body: .text("\(number)"))) }
        await waiting.close()
        let size = try Data(contentsOf: box.appending(path: "journal")).count
        // The disk has no room for the record of a delivery, not even for one byte.
        FullDiskTests.fill(at: size)
        let outbox = try await Lane.curl.client().outbox(at: box, options: options)
        #expect(await becomes { outbox.status.delivered == 1 })
        try await Task.sleep(for: .milliseconds(1500))
        #expect(outbox.status.delivered == 1 && outbox.status.pending == 4)
        FullDiskTests.empty()
        await outbox.waitUntilIdle()
        #expect(outbox.status.delivered == 4 && outbox.status.damaged == 0)
      }
      #expect(server.requests.map(\.text) == ["0", "1", "2", "3"])
    }

    private static func offline(_ options: Outbox.Options) -> Outbox.Options {
      var options = options
      options.connectivity = Offline()
      return options
    }

    private struct Offline: Connectivity {
      var states: AsyncStream<ConnectivityState> {
        AsyncStream {
          $0.yield(.disconnected)
        }
      }
    }

    @Test func `SIGTERM lets running requests finish, and the outbox starts no further ones`() async throws {
      let isOpen = Shared(false)
      let server = try MockServer { _ in
        while !isOpen.withLock({ $0 }), (try? await Task.sleep(for: .milliseconds(5))) != nil {}
        return .ok()
      }
      defer { server.stop() }
      let folder = try TemporaryFolder()
      let box = folder.url.appending(path: "box")
      let hasEnded = Shared(false)
      async let child: Void = {
        await #expect(processExitsWith: .signal(SIGTERM)) {
          [path = box.path as String, url = server.url as String] in
          let client = Lane.curl.client()
          client.drainOnTermination(timeout: .seconds(600))
          let outbox = try await client.outbox(at: URL(filePath: path))
          client.start(.post(RequestTarget(url), body: .text("managed")))
          for number in 0..<6 { try await outbox.submit(.post(RequestTarget(url), body: .text("\(number)"))) }
          while outbox.status.sending < 2 { try await Task.sleep(for: .milliseconds(2)) }
          kill(getpid(), SIGTERM)
          try await Task.sleep(for: .seconds(600))
        }
        hasEnded.withLock { $0 = true }
      }()
      #expect(await becomes(every: .milliseconds(5)) { server.requests.count == 3 })
      // The process waits for the running requests.
      try await Task.sleep(for: .milliseconds(300))
      #expect(!hasEnded.withLock { $0 } && server.requests.count == 3)
      isOpen.withLock { $0 = true }
      await child

      #expect(server.requests.count == 3)
      let outbox = try await Lane.curl.client().outbox(at: box)
      // The next delivery may have begun.
      let status = outbox.status
      #expect(status.pending + status.delivered == 4)
      await outbox.waitUntilIdle()
      #expect(Set(server.requests.map(\.text)) == ["managed", "0", "1", "2", "3", "4", "5"])
      #expect(server.requests.count == 7)
    }
  }
#endif
