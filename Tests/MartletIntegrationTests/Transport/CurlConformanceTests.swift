#if os(Linux)
  @testable import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// The engine, together with libcurl, meets all of HTTP's requirements for a transport, so no case is excluded.
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

    /// The servers count as fast from the start, as if they had always responded at once.
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
