#if os(Linux)
  @testable import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// No case is left out: what HTTP asks of a transport, libcurl and what is built on it do.
  @Suite(.hangLimit) struct CurlConformanceTests {
    @Test(arguments: Lane.engines, TransportConformance.cases)
    func `the engine conforms`(_ lane: Lane, _ conformance: TransportConformance.Case) async throws {
      try TemporaryFolder.requireRoom()
      try Self.require(conformance)
      try await conformance.run { lane.transport }
    }

    private static func require(_ conformance: TransportConformance.Case) throws {
      let fact = HostFact.reportedRequests
      guard conformance.name.contains("POST"), conformance.name.hasSuffix("dies"), !fact.holds else { return }
      try Test.cancel("\(fact.missing)")
    }

    /// As with servers that have shown that they answer at once.
    @Test(arguments: Lane.engines, TransportConformance.cases)
    func `the engine conforms with inline waits`(
      _ lane: Lane, _ conformance: TransportConformance.Case
    ) async throws {
      try TemporaryFolder.requireRoom()
      try Self.require(conformance)
      try await conformance.run { WaitingTransport(lane: lane) }
    }
  }
#endif
