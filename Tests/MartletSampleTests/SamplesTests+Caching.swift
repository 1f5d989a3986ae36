import Foundation
import Martlet
import MartletTesting
import RedisStore
import Synchronization
import Testing

extension SamplesTests {
  private nonisolated static let stored: HTTPHeaders = ["Cache-Control": "max-age=60", "Content-Type": "image/png"]

  @Test func `reports the source of a response`() async throws {
    let client = Self.client(StubTransport { _ in .text("x", headers: Self.stored) })

    for source in [HTTPResponse.Source.network, .cache] {
      let news = try await client.get("https://news.example/today")
      print(news.source, news.cacheExplanation ?? "", news.headers["Age"] ?? "0")
      #expect(news.source == source)
    }
  }

  @Test func `caches responses on disk`() async throws {
    let folder = URL(filePath: "/var/cache/reader")
    let client = HTTPClient { $0.cache = .disk(folder, bytes: 500_000_000) }

    // Nothing was stored, so the directory does not exist.
    #expect(try await client.cache.responses.isEmpty)
  }

  @Test func `sets the cache policy of a request`() async throws {
    let count = Mutex(0)
    let client = Self.client(
      StubTransport { _ in
        let number = count.withLock { count in
          count += 1
          return count
        }
        return number == 1 ? .text("x", headers: Self.stored) : .status(503)
      })

    let cached = try await client.get("/news", options: .cache([.preferCached, .staleWhileRevalidate]))
    let news = try await client.get("/news", options: .cache([.alwaysRevalidate, .fallbackOnError]))
    if let reason = news.fallbackReason { print("the server could not be asked: \(reason)") }

    #expect(cached.source == .network && news.source == .fallback && news.fallbackReason != nil)
  }

  @Test func `inspects the cache and removes responses`() async throws {
    let client = Self.client(StubTransport { _ in .text("x", headers: Self.stored) })
    _ = try await client.get("https://news.example/today")
    _ = try await client.get("https://news.example/picture")

    #expect(try await client.cache.usage.records == 2)
    try await client.cache.remove("https://news.example/today")
    try await client.cache.remove { $0.headers["Content-Type"]?.hasPrefix("image/") ?? false }
    try await client.cache.removeAll()
    print(try await client.cache.usage.bytes)
    #expect(try await client.cache.usage.records == 0)
  }

  @Test func `caches responses in Redis`() {
    let client = HTTPClient { $0.cache = .store(RedisStore(host: "cache.internal", lifetime: .seconds(86_400))) }

    // No connection is opened before the first lookup.
    #expect(client.configuration.cache !== ResponseCache.off)
  }

  @Test func `partitions the cache by name`() async throws {
    struct User { let id: Int }
    let client = Self.client(StubTransport { _ in .text("x", headers: Self.stored) })
    var sources: [HTTPResponse.Source] = []

    for user in [User(id: 1), User(id: 2), User(id: 1)] {
      let inbox = try await client.get("/inbox", options: .cachePartition("user-\(user.id)"))
      sources.append(inbox.source)
    }

    #expect(sources == [.network, .network, .cache])
  }

  @Test func `caches responses in a custom store`() async throws {
    final class Shelf: ResponseCache.Store {
      private let items = Mutex<[String: Data]>([:])
      func data(for key: String) async throws -> Data? { items.withLock { $0[key] } }
      func store(_ data: Data, for key: String) async throws { items.withLock { $0[key] = data } }
      func remove(_ key: String) async throws { _ = items.withLock { $0.removeValue(forKey: key) } }
      func removeAll() async throws { items.withLock { $0 = [:] } }
    }
    let shelf = Shelf()
    for source in [HTTPResponse.Source.network, .cache] {
      let client = HTTPClient {
        $0.transport = StubTransport { _ in .text("x", headers: Self.stored) }
        $0.cache = .store(shelf)
        // A store has 2 seconds to respond, which may be too short on a busy machine.
        $0.clock = TestClock()
      }
      #expect(try await client.get("https://a.example/").source == source)
    }
  }
}
