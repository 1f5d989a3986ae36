#if os(Linux)
  import Foundation
  import Martlet
  import TestSupport
  import Testing

  /// Arbitrary HTTP/2 frames lead to a right response or an `HTTPError`, in bounded time and memory.
  ///
  /// `MARTLET_FUZZ_SEED` repeats a run, and `MARTLET_FRAME_COUNT` is the total number of sequences.
  @Suite(.ownThreads, .needsHTTP2Server, .needs(.proc), .hangLimit) struct FrameFuzzTests {
    @Test(.needs(.http2), arguments: Lane.engines)
    func `any frames yield a response or an HTTPError and do not affect other requests`(_ lane: Lane) async throws {
      let seed = Figures.setting("MARTLET_FUZZ_SEED") ?? Int.random(in: 0...Int.max)
      let all = Figures.setting("MARTLET_FRAME_COUNT") ?? Stress.count(400, full: 20_000)
      let authority = try await CertificateAuthority()
      let identity = try await authority.identity()
      let hostile = try await HTTP2Server(identity)
      let (ending, healthy) = (try await HTTP2Server(identity), try await HTTP2Server(identity))
      let folder = try TemporaryFolder()
      defer { folder.remove() }
      let journal = try folder.write(Data(count: FrameRun.workers * 8), to: "journal")
      let task = FrameRun.Order(
        lane: lane, seed: UInt64(bitPattern: Int64(seed)), count: all / Lane.engines.count, hostile: hostile.url,
        ending: ending.url, healthy: healthy.url, root: authority.root, journal: journal.path)
      Figures.record("frames \(lane): MARTLET_FUZZ_SEED=\(seed), \(task.count) sequences")

      let child = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        [task = task as FrameRun.Order] in
        try await FrameRun(task).run()
      }

      Figures.show(child)
      let repeated = [hostile, ending, healthy].flatMap(\.repeatedNumbers)
      // A later request to the same server may be affected by the sequence, and is then repeated.
      #expect(repeated.allSatisfy { $0 >= task.count }, "sent twice: \(repeated.filter { $0 < task.count })")
      guard child?.exitStatus != .exitCode(EXIT_SUCCESS) else { return }
      let numbers = try Data(contentsOf: journal).withUnsafeBytes { Array($0.bindMemory(to: Int64.self)) }
      for number in Set(numbers) {
        let sequence = FrameSequence(seed: task.seed, number: Int(number))
        Issue.record("sequence \(number) of seed \(seed) was under way: \(sequence.description)")
      }
    }

    @Test func `the same seed produces the same sequences`() {
      let all = (0..<200).map { FrameSequence(seed: 7, number: $0).description }
      #expect(all == (0..<200).map { FrameSequence(seed: 7, number: $0).description } && Set(all).count > 150)
    }
  }
#endif
