import MartletBase

/// The adapter for a custom storage backend.
final class StoreAdapter: CacheStorage {
  /// The longest wait of a request for the store.
  private static let patience = Duration.seconds(2)
  /// The longest wait for a removal.
  private static let longPatience = Duration.seconds(30)
  /// How long requests do not use the store after a timeout.
  private static let restLength = Duration.seconds(5)

  let maximumBodyBytes: Int64
  private let store: any ResponseCache.Store
  /// The timeline of the last client that was created with the cache.
  private let timeline = Locked(Timeline(ContinuousClock()))
  /// The end of the pause after a timeout, and its timeline.
  private let rest = Locked<(end: Duration, timeline: Timeline)?>(nil)

  init(_ store: any ResponseCache.Store, maximumBodyBytes: Int64) {
    self.store = store
    self.maximumBodyBytes = maximumBodyBytes
  }

  var isSurelyEmpty: Bool { false }

  /// Sets the clock to that of a client.
  func keepTime(by clock: any Clock<Duration>) { timeline.withLock { $0 = Timeline(clock) } }

  private var isResting: Bool { rest.withLock { $0 }.map { $0.timeline.now() < $0.end } ?? false }

  func record(_ key: CacheKey) async throws -> CacheRecord? {
    let name = key.digest
    guard let data = try await bounded({ try await $0.data(for: name) }) else { return nil }
    guard let found = CacheRecordCoding.decode(data), found.key == key else {
      // The data is damaged, or belongs to another key.
      try? await bounded({ try await $0.remove(name) })
      return nil
    }
    return found.record
  }

  func store(_ record: CacheRecord, _ key: CacheKey) async throws {
    let name = key.digest
    guard let data = CacheRecordCoding.encode(record, key) else {
      throw HTTPError(.fileFailed, "the header fields are too large for the cache")
    }
    try await bounded { try await $0.store(data, for: name) }
  }

  func remove(_ key: CacheKey) async throws {
    let name = key.digest
    try await bounded(for: Self.longPatience) { try await $0.remove(name) }
  }

  func removeAll() async throws { try await bounded(for: Self.longPatience) { try await $0.removeAll() } }

  func makeSink() -> DiskSink? { nil }

  func contents() throws -> [(key: CacheKey, record: CacheRecord)] { throw Self.unlisted }

  func usage() throws -> (bytes: Int64, records: Int) { throw Self.unlisted }

  private static let unlisted = HTTPError(.unsupported, "the cache's store cannot list its records")

  /// Calls the store with a time limit.
  private func bounded<R: Sendable>(
    for patience: Duration = patience, _ work: @escaping @Sendable (any ResponseCache.Store) async throws -> R
  ) async throws -> R {
    if patience == Self.patience, isResting {
      throw HTTPError(.fileFailed, "the cache's store has recently timed out")
    }
    let limit = AbortSource()
    let sleeper = Task { [self, timeline = timeline.withLock { $0 }] in
      guard (try? await timeline.watch(patience)) != nil else { return }
      rest.withLock { $0 = (timeline.now() + Self.restLength, timeline) }
      limit.abort(HTTPError(.fileFailed, "the cache's store did not respond within \(patience)"))
    }
    defer { sleeper.cancel() }
    return try await withAbort(limit) { [store] in try await work(store) }
  }
}
