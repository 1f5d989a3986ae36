import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct CachePolicyTests {
  private static let modes: [CachePolicy] = [.revalidateWhenStale, .alwaysRevalidate, .preferCached, .onlyCached]

  @Test func `detects every conflict among the 512 option sets`() {
    var valid = 0
    for bits in 0..<UInt16(512) {
      let policy = CachePolicy(rawValue: bits)
      let modes = Self.modes.filter { policy.contains($0) }.count
      let hasExtras = policy.contains(.fallbackOnError) || policy.contains(.staleWhileRevalidate)
      let isSound =
        modes <= 1
        && !(policy.contains(.neverRead) && (modes > 0 || hasExtras))
        && !(policy.contains(.onlyCached) && hasExtras)
        && !policy.isSuperset(of: [.alwaysRevalidate, .staleWhileRevalidate])
      #expect((policy.problem == nil) == isSound, "\(bits): \(policy.problem ?? "valid")")
      if isSound { valid += 1 }
    }
    // neverRead: 2 × 2. Otherwise by mode, each × 2 × 2 for neverWrite and ignoreServerDirectives: no mode,
    // revalidateWhenStale and preferCached allow four sets of extras, alwaysRevalidate two, onlyCached one.
    #expect(valid == 4 + 4 * (4 + 4 + 4 + 2 + 1))
  }

  @Test func `rejects conflicting options before sending, and names both in the error`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.onTestClock { $0.transport = transport }

    let error = try await #require(throws: HTTPError.self) {
      try await client.get("http://a.test/", options: .cache([.onlyCached, .neverRead]))
    }

    #expect(error.kind == .invalidRequest)
    #expect(error.message.contains("neverRead") && error.message.contains("onlyCached"))
    #expect(transport.requests.isEmpty)
  }

  @Test func `rejects a negative lifetime`() async throws {
    let transport = StubTransport { _ in .text("x") }

    let error = try await #require(throws: HTTPError.self) {
      try await HTTPClient.onTestClock { $0.transport = transport }.get(
        "http://a.test/", options: .cacheFor(.seconds(-1)))
    }

    #expect(error.kind == .invalidRequest && transport.requests.isEmpty)
  }
}
