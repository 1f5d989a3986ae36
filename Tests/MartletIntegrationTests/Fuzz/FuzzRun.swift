#if os(Linux)
  import Foundation
  import Martlet
  import TestSupport
  import Testing

  /// Asks for many mutants, a few at a time; to be run in a process of its own.
  final class FuzzRun: Sendable {
    static let workers = 16

    private struct Tally: Sendable {
      var next = 0
      var ends: [String: Int] = [:]
      var wrong: [String] = []
      var slowest = Duration.zero
      var running: [Int: ContinuousClock.Instant] = [:]
    }

    let lane: Lane
    let seed: UInt64
    let count: Int
    /// Where the numbers of the mutants under way are kept, for the case that the process ends by one of them.
    let journal: String
    private let tally = Shared(Tally())

    init(_ lane: Lane, seed: UInt64, count: Int, journal: String) {
      self.lane = lane
      self.seed = seed
      self.count = count
      self.journal = journal
    }

    func run() async throws {
      let scripts = Shared<[Int: ByteServer.Script]>([:])
      let repeated = Shared(0)
      let seen = Shared<Set<Int>>([])
      let server = try ByteServer { number in
        if !seen.withLock({ $0.insert(number).inserted }) { repeated.withLock { $0 += 1 } }
        // On a busy machine the client may have given up before its request is read.
        return scripts.withLock { $0.removeValue(forKey: number) } ?? ByteServer.Script(pieces: [], end: .reset)
      }
      let client = lane.client {
        $0.timeout = TimeoutPolicy(connect: nil, idle: .milliseconds(500), total: nil)
        $0.options = $0.options.maximumBodyBytes(4 << 20)
        $0.maximumConnectionsPerHost = Self.workers
      }
      let journal = open(journal, O_WRONLY | O_CLOEXEC)
      defer { close(journal) }
      let start = ContinuousClock.now
      let memory = ProcessFacts.residentBytes

      let watcher = Task { try await self.reportLate(client) }
      await withTaskGroup(of: Void.self) { group in
        for worker in 0..<Self.workers {
          group.addTask { [self] in
            while let number = takeNumber() {
              var entry = Int64(number)
              pwrite(journal, &entry, 8, off_t(worker * 8))
              let mutant = Mutant(seed: seed, number: number)
              scripts.withLock { $0[number] = mutant.script }
              await meet(mutant, number, client, server)
              scripts.withLock { $0[number] = nil }
            }
          }
        }
      }
      watcher.cancel()

      let tally = tally.withLock { $0 }
      let ends = tally.ends.sorted { $0.value > $1.value }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
      let grown = ProcessFacts.residentBytes - memory
      Figures.note(
        "fuzz \(lane): \(count) mutants in \((ContinuousClock.now - start) / .seconds(1)) s: \(ends); "
          + "slowest \(Figures.milliseconds(tally.slowest)), \(grown >> 10) KiB more, peak \(ProcessFacts.peakBytes >> 10) KiB"
      )
      for wrong in tally.wrong.prefix(10) { Issue.record("\(wrong)") }
      #expect(tally.wrong.isEmpty)
      #expect(!Stress.isOn || isSanitized || tally.slowest < .seconds(15))
      #expect(repeated.withLock { $0 } == 0, "a request was sent twice")
      #expect(isSanitized || ProcessFacts.peakBytes - memory < 192 << 20)
      #expect(await becomes { client.core.entryCount == 0 && server.connectionCount <= Self.workers })
      // The client has not been harmed; the connections that the mutants have left behind may be.
      let good = RecordedResponse.all[0]
      var isWell = false
      for number in count..<(count + 4 * Self.workers) where !isWell {
        scripts.withLock { $0[number] = ByteServer.Script(pieces: [good.bytes], end: .keep) }
        do {
          isWell = try await client.get(server.url(number)).text == good.body
        } catch {
          Figures.note("after the mutants: \(error)")
        }
      }
      #expect(isWell)
      server.stop()
    }

    private func takeNumber() -> Int? {
      tally.withLock { [count] tally in
        guard tally.next < count else { return nil }
        defer { tally.next += 1 }
        tally.running[tally.next] = .now
        return tally.next
      }
    }

    private func meet(_ mutant: Mutant, _ number: Int, _ client: HTTPClient, _ server: ByteServer) async {
      let start = ContinuousClock.now
      let body: HTTPBody? = mutant.method == "POST" ? .text("body") : nil
      let request = HTTPRequest(HTTPMethod(mutant.method), server.url(number), body: body)
      var wrong: String?
      var end = "responses"
      do {
        if number % 8 == 0 {
          let count = try await client.stream(request) { response in
            try await response.body.reduce(into: 0) { $0 += $1.count }
          }
          if count > 0 && mutant.method == "HEAD" { wrong = "a body after HEAD" }
        } else {
          let response = try await client.send(request)
          if !(200...999 ~= response.status.rawValue) { wrong = "status \(response.status.rawValue)" }
          if response.body.count > 4 << 20 { wrong = "\(response.body.count) bytes" }
          if !response.body.isEmpty && mutant.method == "HEAD" { wrong = "a body after HEAD" }
        }
      } catch let error as HTTPError {
        end = "\(error.kind)"
        let kinds: [HTTPError.Kind] = [.connectionLost, .protocolViolation, .timedOut, .bodyTooLarge]
        if !kinds.contains(error.kind) || error.message.isEmpty || error.phase == nil { wrong = "\(error)" }
      } catch {
        wrong = "not an error of ours: \(error)"
      }
      let elapsed = ContinuousClock.now - start
      tally.withLock {
        $0.running[number] = nil
        $0.ends[end, default: 0] += 1
        $0.slowest = max($0.slowest, elapsed)
        if let wrong { $0.wrong.append("\(wrong) of mutant \(number) of seed \(seed): \(mutant.description)") }
      }
    }

    /// Shows what hangs before the limit of the suite ends everything.
    private func reportLate(_ client: HTTPClient) async throws {
      while true {
        try await Task.sleep(for: .seconds(1))
        let now = ContinuousClock.now
        let late = tally.withLock { tally in
          let late = tally.running.filter { now - $0.value > .seconds(45) }.map(\.key)
          for number in late { tally.running[number] = nil }
          return late
        }
        for number in late {
          let text = Mutant(seed: seed, number: number).description
          Figures.note("hangs: mutant \(number) of seed \(seed): \(text)")
          Issue.record("mutant \(number) hangs")
        }
        if !late.isEmpty { client.cancelAll() }
      }
    }
  }
#endif
