import MartletBase
import Foundation

/// Records in memory, with eviction of the least recently used.
final class MemoryShelf: CacheShelf {
  fileprivate struct State {
    var items: [CacheKey: Int] = [:]
    var slots: [Slot] = []
    var free: [Int] = []
    /// The ends of the list in order of use.
    var newest: Int?
    var oldest: Int?
    var bytes: Int64 = 0
  }

  /// A record in the list in order of use.
  fileprivate struct Slot {
    var key: CacheKey
    var record: CacheRecord
    var cost: Int64
    var newer: Int?
    var older: Int?
  }

  let limit: Int64
  private let state = Locked(State())

  /// Creates an empty shelf; the limit in bytes includes heads.
  init(limit: Int64) { self.limit = max(0, limit) }

  /// A quarter of the limit, so that one large body does not evict everything else.
  var maximumBodyBytes: Int64 { limit / 4 }

  var isSurelyEmpty: Bool { state.withLock { $0.items.isEmpty } }

  func record(_ key: CacheKey) -> CacheRecord? {
    state.withLock { state in
      guard let place = state.items[key] else { return nil }
      state.touch(place)
      return state.slots[place].record
    }
  }

  func store(_ record: CacheRecord, _ key: CacheKey) {
    let cost = Self.cost(record, key)
    // Released after unlocking.
    let dropped: [CacheRecord] = state.withLock { state in
      var dropped: [CacheRecord] = []
      if let place = state.items[key] { dropped.append(state.remove(place)) }
      guard cost <= limit else { return dropped }
      while state.bytes + cost > limit, let place = state.oldest { dropped.append(state.remove(place)) }
      state.insert(key, record, cost)
      return dropped
    }
    _ = dropped
  }

  func remove(_ key: CacheKey) {
    let dropped = state.withLock { state in state.items[key].map { state.remove($0) } }
    _ = dropped
  }

  func removeAll() {
    let dropped = state.withLock { state in
      defer { state = State() }
      return state.slots
    }
    _ = dropped
  }

  func makeSink() -> DiskSink? { nil }

  func contents() -> [(key: CacheKey, record: CacheRecord)] {
    state.withLock { state in state.items.values.map { (state.slots[$0].key, state.slots[$0].record) } }
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

extension MemoryShelf.State {
  fileprivate mutating func insert(_ key: CacheKey, _ record: CacheRecord, _ cost: Int64) {
    let slot = MemoryShelf.Slot(key: key, record: record, cost: cost)
    let place: Int
    if let last = free.popLast() {
      place = last
      slots[place] = slot
    } else {
      place = slots.count
      slots.append(slot)
    }
    items[key] = place
    bytes += cost
    link(place)
  }

  fileprivate mutating func touch(_ place: Int) {
    guard newest != place else { return }
    unlink(place)
    link(place)
  }

  fileprivate mutating func remove(_ place: Int) -> CacheRecord {
    unlink(place)
    let slot = slots[place]
    items[slot.key] = nil
    bytes -= slot.cost
    slots[place].record = CacheRecord()
    free.append(place)
    return slot.record
  }

  private mutating func link(_ place: Int) {
    slots[place].older = newest
    slots[place].newer = nil
    if let newest { slots[newest].newer = place }
    newest = place
    if oldest == nil { oldest = place }
  }

  private mutating func unlink(_ place: Int) {
    let (newer, older) = (slots[place].newer, slots[place].older)
    if let newer { slots[newer].older = older } else { newest = older }
    if let older { slots[older].newer = newer } else { oldest = newer }
  }
}
