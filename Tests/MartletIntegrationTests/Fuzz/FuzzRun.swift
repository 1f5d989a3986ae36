#if os(Linux)
  import Foundation
  import Martlet
  import TestSupport
  import Testing

  /// Requests many mutants, several at a time, in a separate process.
  final class FuzzRun: Sendable {
    static let workers = 32

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
    /// The path of the file that lists the mutants in progress, in case one of them crashes the process.
    let journal: String
    private let tally = Shared(Tally())

    init(_ lane: Lane, seed: UInt64, count: Int, journal: String) {
      self.lane = lane
      self.seed = seed
      self.count = count
      self.journal = journal
    }

    func run() async throws {
      let lines = try (0..<Self.workers).map { _ in try DeliveryLine() }
      let neighbors = try DeliveryLine()
      let client = lane.client {
        $0.timeout = TimeoutPolicy(connect: nil, idle: .milliseconds(500), total: nil)
        $0.options = $0.options.maximumBodyBytes(4 << 20)
      }
      let journal = open(journal, O_WRONLY | O_CLOEXEC)
      defer { close(journal) }
      let start = ContinuousClock.now
      let memory = ProcessFacts.residentBytes

      let watcher = Task { try await self.reportLate(client) }
      await withTaskGroup(of: Void.self) { group in
        for (worker, line) in lines.enumerated() {
          group.addTask { [self] in
            var names: Set<String> = []
            while let number = takeNumber() {
              var entry = Int64(number)
              pwrite(journal, &entry, 8, off_t(worker * 8))
              await meet(number, client, line, neighbors, &names)
            }
          }
        }
      }
      watcher.cancel()

      let tally = tally.withLock { $0 }
      let ends = tally.ends.sorted { $0.value > $1.value }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
      let grown = ProcessFacts.residentBytes - memory
      Figures.record(
        "fuzz \(lane): \(count) mutants in \((ContinuousClock.now - start) / .seconds(1)) s: \(ends); "
          + "slowest \(Figures.milliseconds(tally.slowest)), \(grown >> 10) KiB more, peak \(ProcessFacts.peakBytes >> 10) KiB"
      )
      for wrong in tally.wrong.prefix(10) { Issue.record("\(wrong)") }
      #expect(tally.wrong.isEmpty)
      #expect(!Stress.isOn || isSanitized || tally.slowest < .seconds(15))
      #expect(lines.allSatisfy { $0.repeatedCount == 0 }, "a request was sent twice")
      #expect(isSanitized || ProcessFacts.peakBytes - memory < 192 << 20)
      #expect(await becomes { client.core.entryCount == 0 && lines.allSatisfy { $0.server.connectionCount <= 2 } })
      for line in lines + [neighbors] { line.server.stop() }
    }

    private func takeNumber() -> Int? {
      tally.withLock { [count] tally in
        guard tally.next < count else { return nil }
        defer { tally.next += 1 }
        tally.running[tally.next] = .now
        return tally.next
      }
    }

    /// Requests a mutant and then a valid response; `names` contains the line's earlier requests.
    private func meet(
      _ number: Int, _ client: HTTPClient, _ line: DeliveryLine, _ neighbors: DeliveryLine, _ names: inout Set<String>
    ) async {
      let mutant = Mutant(seed: seed, number: number)
      let start = ContinuousClock.now
      let method = HTTPMethod(mutant.method)
      async let neighborProblem =
        mutant.hasNeighbor
        ? (mutant.mayEndEarly ? neighbors : line).askWell(2 * DeliveryLine.firstNext + number, client, after: .close)
        : nil
      let result = await line.ask(
        number, mutant.script, method: method, mutant.reader, client,
        options: mutant.isRight ? DeliveryLine.patient : RequestOptions(),
        // The next request must be sent before the foreign response arrives.
        waits: !mutant.script.outlivesRequests)
      let elapsed = ContinuousClock.now - start
      var wrong: [String] = []
      var end = "responses"
      switch result {
      case .success(let answer): wrong += problems(of: answer, to: mutant, number, names)
      case .failure(let error as HTTPError):
        end = "\(error.kind)"
        let kinds: [HTTPError.Kind] = [.connectionLost, .protocolViolation, .timedOut, .bodyTooLarge]
        if !kinds.contains(error.kind) || error.message.isEmpty || error.phase == nil { wrong.append("\(error)") }
        if mutant.isRight { wrong.append("a right answer refused: \(error)") }
      case .failure(let error): wrong.append("not an error of ours: \(error)")
      }
      // The client still works, and leftover bytes from the mutant are not taken for the next response.
      let next = DeliveryLine.firstNext + number
      if let problem = await line.askWell(next, client, after: mutant.script.end) { wrong.append(problem) }
      if let problem = await neighborProblem { wrong.append("the neighbor: \(problem)") }
      names.insert(DeliveryLine.name(number))
      names.insert(DeliveryLine.name(next))
      tally.withLock {
        $0.running[number] = nil
        $0.ends[end, default: 0] += 1
        $0.slowest = max($0.slowest, elapsed)
        for wrong in wrong {
          $0.wrong.append("\(wrong), mutant \(number) of seed \(seed): \(mutant.description.prefix(4000))")
        }
      }
    }

    private func problems(
      of answer: DeliveryLine.Answer, to mutant: Mutant, _ number: Int, _ names: Set<String>
    ) -> [String] {
      var wrong: [String] = []
      if !(200...999 ~= answer.status) { wrong.append("status \(answer.status)") }
      if answer.body.count > 4 << 20, mutant.reader == .quick { wrong.append("\(answer.body.count) bytes") }
      if !answer.body.isEmpty, mutant.method == "HEAD" { wrong.append("a body after HEAD") }
      if answer.numbers.contains(where: names.contains) { wrong.append("the answer to another request") }
      if mutant.isRight, let whole = mutant.whole {
        let body = mutant.method == "HEAD" ? "" : whole.body
        let isRight =
          answer.status == whole.status && answer.numbers == [DeliveryLine.name(number)]
          && answer.body == Data(body.utf8)
        if !isRight { wrong.append("not the answer: \(answer.status) \(answer.numbers) \(answer.body.count) bytes") }
      }
      return wrong
    }

    /// Reports hanging requests before the suite's limit ends the process.
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
          Figures.record("hangs: mutant \(number) of seed \(seed): \(text)")
          Issue.record("mutant \(number) hangs")
        }
        if !late.isEmpty { client.cancelAll() }
      }
    }
  }
#endif
