#if os(Linux)
  import Martlet
  import MartletTesting
  import Testing

  /// No case is left out: what HTTP asks of a transport, libcurl and what is built on it do.
  @Suite(.oneAtATime, .serialized) struct CurlConformanceTests {
    @Test(arguments: EngineLane.allCases, TransportConformance.cases)
    func `the engine`(_ lane: EngineLane, _ conformance: TransportConformance.Case) async throws {
      try await conformance.run { lane.transport }
    }
  }

  /// The ways to the engine on libcurl.
  enum EngineLane: String, CaseIterable, Codable, Sendable, CustomTestStringConvertible {
    case curl, urlSession

    var testDescription: String { rawValue }

    var transport: any Transport {
      switch self {
      case .curl: .curl
      case .urlSession: .urlSession
      }
    }
  }
#endif
