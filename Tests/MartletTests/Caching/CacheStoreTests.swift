import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// The cache with a custom store.
@Suite(.hangLimit) struct CacheStoreTests {
  /// A minimal store.
  final class Dictionary: ResponseCache.Store {
    let contents = Shared<[String: Data]>([:])

    func data(for key: String) -> Data? { contents.withLock { $0[key] } }
    func store(_ data: Data, for key: String) { contents.withLock { $0[key] = data } }
    func remove(_ key: String) { contents.withLock { _ = $0.removeValue(forKey: key) } }
    func removeAll() { contents.withLock { $0.removeAll() } }
  }

  /// A store whose functions wait until its gate opens, even if their task is cancelled.
  final class Hanging: ResponseCache.Store {
    let gate = Gate()

    func data(for key: String) async -> Data? {
      await gate.wait()
      return nil
    }
    func store(_ data: Data, for key: String) async { await gate.wait() }
    func remove(_ key: String) async { await gate.wait() }
    func removeAll() async { await gate.wait() }
  }

  struct Failing: ResponseCache.Store {
    struct Full: Error {}

    /// Whether a lookup returns nil; otherwise it throws.
    let canRead: Bool

    func data(for key: String) throws -> Data? {
      guard canRead else { throw Full() }
      return nil
    }
    func store(_ data: Data, for key: String) throws { throw Full() }
    func remove(_ key: String) throws { throw Full() }
    func removeAll() throws { throw Full() }
  }

  private static let settings: ClientSetting = [
    .clock(TestClock(advancing: .manually)), .timeout(.unlimited), .now(FreshnessTests.start),
  ]

  private func transport() -> StubTransport {
    StubTransport { request in
      .text(
        "body \(request.headers["Accept-Language"] ?? "")",
        headers: ["Cache-Control": "max-age=60", "Vary": "Accept-Language"])
    }
  }

  @Test func `two clients can share a store backed by a dictionary`() async throws {
    let (store, transport) = (Dictionary(), transport())
    let (one, two) = (
      HTTPClient(transport, .cache(.store(store)), Self.settings),
      HTTPClient(transport, .cache(.store(store)), Self.settings)
    )

    for language in ["de", "en"] { _ = try await one.get("http://a.test/x", headers: ["Accept-Language": language]) }
    for language in ["de", "en"] {
      let response = try await two.get("http://a.test/x", headers: ["Accept-Language": language])
      #expect(response.source == .cache && response.text == "body \(language)")
    }

    #expect(transport.requests.count == 2)
    let names = store.contents.withLock { Array($0.keys) }
    #expect(names.count == 3)
    #expect(names.allSatisfy { $0.count == 40 && $0.allSatisfy(\.isHexDigit) })

    try await two.cache.remove("http://a.test/x")
    #expect(try await one.get("http://a.test/x", headers: ["Accept-Language": "de"]).source == .network)
    try await two.cache.removeAll()
    #expect(store.contents.withLock { $0.isEmpty })
  }

  @Test func `keeps responses to authenticated requests out of the store`() async throws {
    let store = Dictionary()
    let client = HTTPClient(transport(), .cache(.store(store)), Self.settings)

    _ = try await client.get("http://a.test/x", headers: ["Authorization": "Bearer secret"])
    let second = try await client.get("http://a.test/x", headers: ["Authorization": "Bearer secret"])

    #expect(second.source == .cache)
    #expect(store.contents.withLock { $0.isEmpty })
  }

  @Test func `a custom store supports neither listing nor usage`() async throws {
    let client = HTTPClient(transport(), .cache(.store(Dictionary())), Self.settings)

    await #expect(throws: HTTPError.self) { try await client.cache.responses }
    await #expect(throws: HTTPError.self) { try await client.cache.usage }
  }

  @Test func `a hanging store delays a request by two seconds, and is then skipped for five`() async throws {
    let (store, transport) = (Hanging(), transport())
    defer { store.gate.open() }
    let clock = TestClock(advancing: .manually)
    let client = HTTPClient(transport, .cache(.store(store)), Self.settings, .clock(clock))

    let handle = client.start(.get("http://a.test/x"))
    await store.gate.waitForArrivals(1)
    await clock.wait(forSleepers: 1)
    clock.advance(by: .milliseconds(1999))
    await letOthersRun()
    #expect(handle.isAlive && transport.requests.isEmpty)
    clock.advance(by: .milliseconds(1))
    var reasons: [String] = []
    for await event in handle.events { if case .notCached(let reason) = event { reasons.append(reason) } }
    let response = try await handle.value

    #expect(response.source == .network && response.text == "body ")
    #expect(reasons == ["the cache's store has recently timed out"])
    // The cache skips the store for five seconds, then tries it again.
    clock.advance(by: .milliseconds(4999))
    #expect(try await client.get("http://a.test/x").source == .network)
    #expect(store.gate.arrivals == 1)
    clock.advance(by: .milliseconds(1))
    let later = client.start(.get("http://a.test/x"))
    await store.gate.waitForArrivals(2)
    later.cancel()
  }

  @Test(arguments: [true, false])
  func `a failing store does not fail the request, which emits an event`(canRead: Bool) async throws {
    let transport = transport()
    let client = HTTPClient(transport, .cache(.store(Failing(canRead: canRead))), Self.settings)

    for _ in 0..<2 {
      let handle = client.start(.get("http://a.test/x"))
      var reasons: [String] = []
      for await event in handle.events { if case .notCached(let reason) = event { reasons.append(reason) } }

      #expect(try await handle.value.source == .network)
      #expect(reasons == ["Full"])
    }
    #expect(transport.requests.count == 2)

    // Explicit cache operations report the error.
    await #expect(throws: Failing.Full.self) { try await client.cache.remove("http://a.test/x") }
    await #expect(throws: Failing.Full.self) { try await client.cache.removeAll() }
  }
}
