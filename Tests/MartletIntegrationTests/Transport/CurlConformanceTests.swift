#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import Testing

  /// No case is left out: what HTTP asks of a transport, libcurl and what is built on it do.
  @Suite(.oneAtATime, .serialized) struct CurlConformanceTests {
    @Test(arguments: TransportConformance.cases)
    func `libcurl`(_ conformance: TransportConformance.Case) async throws {
      try await conformance.run { .curl }
    }

    @Test(.timeLimit(.minutes(2)), arguments: HostileAnswer.all)
    func `survives what ends a program with the system's loader`(_ answer: HostileAnswer) async {
      await #expect(processExitsWith: .success) { [id = answer.id as String] in
        await HostileAnswer.meet(id, .curl)
      }
    }
  }
#endif
