#if os(Linux)
  import Foundation
  import Martlet
  import TestSupport
  import Testing

  /// Arbitrary bytes from a server lead to a right response or an `HTTPError`, in bounded time and memory.
  ///
  /// `MARTLET_FUZZ_SEED` repeats a run, and `MARTLET_FUZZ_COUNT` is the total number of mutants.
  @Suite(.ownThreads, .needs(.proc), .hangLimit) struct FuzzTests {
    @Test(arguments: Lane.engines)
    func `any bytes yield a response or an HTTPError`(_ lane: Lane) async throws {
      let seed = Figures.setting("MARTLET_FUZZ_SEED") ?? Int.random(in: 0...Int.max)
      let count = (Figures.setting("MARTLET_FUZZ_COUNT") ?? (Stress.count(500, full: 50_000))) / Lane.engines.count
      Figures.record("fuzz \(lane): MARTLET_FUZZ_SEED=\(seed), \(count) mutants")
      let folder = try TemporaryFolder()
      defer { folder.remove() }
      let journal = try folder.write(Data(count: FuzzRun.workers * 8), to: "journal")

      let child = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        [lane = lane as Lane, seed = seed as Int, count = count as Int, path = journal.path as String] in
        let run = FuzzRun(lane, seed: UInt64(bitPattern: Int64(seed)), count: count, journal: path)
        try await run.run()
      }

      Figures.show(child)
      guard child?.exitStatus != .exitCode(EXIT_SUCCESS) else { return }
      let numbers = try Data(contentsOf: journal).withUnsafeBytes { Array($0.bindMemory(to: Int64.self)) }
      for number in Set(numbers) {
        let mutant = Mutant(seed: UInt64(bitPattern: Int64(seed)), number: Int(number))
        Issue.record("mutant \(number) of seed \(seed) was under way: \(mutant.description)")
      }
    }

    @Test(arguments: Lane.engines)
    func `the recorded responses are valid before mutation`(_ lane: Lane) async throws {
      let server = try ByteServer { number in
        let recorded = RecordedResponse.all[number]
        return ByteServer.Script(pieces: [recorded.bytes], end: recorded.isDelimited ? .keep : .close)
      }
      defer { server.stop() }
      let client = lane.client()

      for (number, recorded) in RecordedResponse.all.enumerated() {
        let response = try await client.get(server.url(number))
        #expect(response.status.rawValue == recorded.status, "\(recorded.name)")
        #expect(response.text == recorded.body, "\(recorded.name)")
      }
    }

    @Test(arguments: Lane.engines)
    func `a truncated response is never accepted as complete`(_ lane: Lane) async throws {
      let parts = RecordedResponse.all.flatMap { recorded in
        stride(from: 0, to: recorded.bytes.count, by: max(1, recorded.bytes.count / (Stress.count(15, full: 150))))
          .map { (recorded, $0) }
      }
      let server = try ByteServer { number in
        let (recorded, count) = parts[number]
        return ByteServer.Script(pieces: [Array(recorded.bytes[..<count])], end: .close)
      }
      defer { server.stop() }
      let client = lane.client { $0.maximumConnectionsPerHost = 16 }

      await withTaskGroup(of: Void.self) { group in
        for worker in 0..<16 {
          group.addTask {
            for number in stride(from: worker, to: parts.count, by: 16) {
              let (recorded, count) = parts[number]
              guard let response = try? await client.get(server.url(number)) else { continue }
              // If only the end of the connection ends a body, a truncated body looks complete unless it is encoded.
              // libcurl does not require the second of the two bytes that end the last chunk.
              let isFine =
                recorded.isDelimited
                ? count == recorded.bytes.count - 1 && response.text == recorded.body
                : response.body.isEmpty || !recorded.isCoded
              #expect(isFine, "\(count) bytes of \(recorded.name)")
              #expect(response.status.rawValue == recorded.status)
              #expect(recorded.body.utf8.starts(with: response.body))
            }
          }
        }
      }
    }

    @Test func `the same seed produces the same mutants`() {
      for number in 0..<200 {
        #expect(Mutant(seed: 7, number: number).description == Mutant(seed: 7, number: number).description)
      }
      #expect(Set((0..<200).map { Mutant(seed: 7, number: $0).description }).count > 190)
    }
  }
#endif
