import MartletBase

/// Records in memory, with eviction of the least recently used.
final class MemoryStorage: CacheStorage {
  fileprivate struct State: ~Copyable {
    var items: [CacheKey: Item] = [:]
    /// The uses in order; only the last use of each record counts.
    var uses = FirstInFirstOut<(key: CacheKey, number: UInt64)>()
    /// The number of the last use; an unused record has 0.
    var lastUse: UInt64 = 1
    var bytes: Int64 = 0
  }

  fileprivate struct Item {
    var record: CacheRecord
    var cost: Int64
    /// The number of its last use.
    var use: UInt64 = 0
  }

  let limit: Int64
  private let state = Locked(State())

  /// Creates an empty storage; the limit in bytes includes heads.
  init(limit: Int64) { self.limit = max(0, limit) }

  /// A quarter of the limit, so one large body does not evict everything else.
  var maximumBodyBytes: Int64 { limit / 4 }

  var isSurelyEmpty: Bool { state.withLock { $0.items.isEmpty } }

  func record(_ key: CacheKey) -> CacheRecord? { state.withLock { $0.use(key) } }

  func store(_ record: CacheRecord, _ key: CacheKey) {
    let cost = Self.cost(record, key)
    // Released after unlocking.
    let dropped: [CacheRecord?] = state.withLock { state in
      var dropped = [state.remove(key)]
      guard cost <= limit else { return dropped }
      while state.bytes + cost > limit, let use = state.uses.popFirst() {
        if state.items[use.key]?.use == use.number { dropped.append(state.remove(use.key)) }
      }
      state.items[key] = Item(record: record, cost: cost)
      state.bytes += cost
      _ = state.use(key)
      return dropped
    }
    _ = dropped
  }

  func remove(_ key: CacheKey) {
    let dropped = state.withLock { $0.remove(key) }
    _ = dropped
  }

  func removeAll() {
    let dropped = state.withLock { exchange(&$0, with: State()).items }
    _ = dropped
  }

  func makeSink() -> DiskSink? { nil }

  func contents() -> [(key: CacheKey, record: CacheRecord)] {
    state.withLock { state in state.items.map { ($0.key, $0.value.record) } }
  }

  func usage() -> (bytes: Int64, records: Int) { state.withLock { ($0.bytes, $0.items.count) } }

  /// The approximate memory use of a record: body, fields and tables.
  private static func cost(_ record: CacheRecord, _ key: CacheKey) -> Int64 {
    var cost = record.body.count + 512 + Int64(key.url.utf8.count + key.detail.utf8.count) * 2
    for field in record.entry?.headers ?? [:] { cost += Int64(field.name.utf8.count + field.value.utf8.count + 64) }
    for (name, value) in record.entry?.selectors ?? [:] { cost += Int64(name.utf8.count + value.utf8.count + 64) }
    for names in record.index?.selections ?? [] { cost += names.reduce(32) { $0 + Int64($1.utf8.count + 32) } }
    return cost
  }
}

extension MemoryStorage.State {
  /// Records a use of a record, and returns the record.
  fileprivate mutating func use(_ key: CacheKey) -> CacheRecord? {
    guard let place = items.index(forKey: key) else { return nil }
    if items.values[place].use != lastUse {
      lastUse += 1
      items.values[place].use = lastUse
      uses.append((key, lastUse))
      // Keep the table of uses proportional to the number of records.
      if uses.count > 2 * items.count + 64 {
        var counting = FirstInFirstOut<(key: CacheKey, number: UInt64)>()
        for use in uses.all where items[use.key]?.use == use.number { counting.append(use) }
        uses = counting
      }
    }
    return items.values[place].record
  }

  fileprivate mutating func remove(_ key: CacheKey) -> CacheRecord? {
    guard let item = items.removeValue(forKey: key) else { return nil }
    bytes -= item.cost
    return item.record
  }
}
