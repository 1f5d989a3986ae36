#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// Hostile responses of a server, each in its own process.
  ///
  /// ``HostileAnswer/all`` contains their bytes and documents what the system's loader on Linux does with them.
  @Suite(.ownThreads, .hangLimit) struct CrashListTests {
    @Test(arguments: HostileAnswer.all, Lane.engines)
    func `the engine survives each response`(_ answer: HostileAnswer, _ lane: Lane) async {
      await #expect(processExitsWith: .success) { [id = answer.id as String, lane = lane as Lane] in
        await HostileAnswer.meet(id, lane.transport)
      }
    }

    @Test(arguments: Lane.engines)
    func `the engine survives split responses, and the next request gets its own response`(_ lane: Lane) async {
      let seed = Delivery.seed("crash list \(lane)")
      await #expect(processExitsWith: .success) { [lane = lane as Lane, seed = seed as UInt64] in
        try await HostileAnswer.meetAllInPieces(lane, seed: seed, nil, [])
      }
    }

    @Test(.needs(.openssl), arguments: Lane.engines)
    func `the engine survives split responses over TLS, and the next request gets its own response`(
      _ lane: Lane
    ) async throws {
      let seed = Delivery.seed("crash list \(lane) TLS")
      let authority = try await CertificateAuthority()
      let identity = try await authority.identity()
      await #expect(processExitsWith: .success) {
        [
          lane = lane as Lane, seed = seed as UInt64, root = authority.root as URL,
          files = [identity.certificate, identity.key] as [URL]
        ] in
        try await HostileAnswer.meetAllInPieces(lane, seed: seed, root, files)
      }
    }

    #if canImport(Darwin) || URLSession
      @Test(.needs(.documentedLoader), arguments: HostileAnswer.all)
      func `the system's loader survives, crashes or freezes as documented`(_ answer: HostileAnswer) async {
        await #expect(processExitsWith: answer.end.condition) { [id = answer.id as String] in
          await HostileAnswer.meet(id, .urlSession(loader: .system))
        }
      }
    #endif
  }
#endif
