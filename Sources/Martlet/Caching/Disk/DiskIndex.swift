import MartletBase

/// The known files of a storage folder: a hint, because other processes change the folder.
///
/// The index has 256 parts, one for each subfolder. Each part is rescanned separately, so storing a record rarely
/// needs a full scan.
struct DiskIndex {
  /// The files of one key.
  struct Slot: Equatable {
    /// The size of the record's file and the body's file.
    var bytes: Int64
    /// The number of the body's file; 0 if it has none.
    var body: UInt64 = 0
    /// Microseconds since 1970.
    var lastUse: Int64
    /// The value of ``changes`` at the slot's last change.
    ///
    /// If two slots have the same last use, the lower value is evicted first.
    fileprivate(set) var change: UInt64 = 0
  }

  static let partCount = 256

  private(set) var bytes: Int64 = 0
  /// The number of changes to the index.
  private(set) var changes: UInt64 = 0
  private var parts = [[DiskName: Slot]](repeating: [:], count: partCount)
  private var nextPart = 0
  private var writtenBytes: Int64 = 0

  var count: Int { parts.reduce(0) { $0 + $1.count } }

  subscript(name: DiskName) -> Slot? { parts[name.folder][name] }

  mutating func put(_ name: DiskName, _ slot: Slot) {
    changes += 1
    var slot = slot
    slot.change = changes
    let old = parts[name.folder].updateValue(slot, forKey: name)
    bytes += slot.bytes - (old?.bytes ?? 0)
  }

  mutating func remove(_ name: DiskName) {
    changes += 1
    bytes -= parts[name.folder].removeValue(forKey: name)?.bytes ?? 0
  }

  mutating func touch(_ name: DiskName, at time: Int64) {
    guard let before = self[name]?.lastUse else { return }
    parts[name.folder][name]?.lastUse = max(before, time)
  }

  /// Replaces a part with the result of a scan, except for slots changed since its start.
  mutating func replace(part: Int, with found: [DiskName: Slot], since start: UInt64) {
    let old = parts[part]
    var new = found
    for (name, slot) in old {
      if slot.change > start {
        new[name] = slot
      } else if let place = new.index(forKey: name) {
        // Files record a use only at intervals, so keep the later time.
        new.values[place].lastUse = max(new.values[place].lastUse, slot.lastUse)
        new.values[place].change = slot.change
      }
    }
    bytes += new.values.reduce(0) { $0 + $1.bytes } - old.values.reduce(0) { $0 + $1.bytes }
    parts[part] = new
  }

  mutating func recordWrite(_ written: Int64) { writtenBytes += written }

  /// The parts to rescan because of the writes since they were last returned.
  ///
  /// All parts are rescanned after writes of a twentieth of the limit, or a quarter of the free space if that is more.
  /// Two processes that do not know of each other thus exceed the limit by at most that amount.
  mutating func partsDue(limit: Int64) -> [Int] {
    let share = max(max(limit / 20, (limit - bytes) / 4) / Int64(Self.partCount), 1)
    let count = Int(min(writtenBytes / share, Int64(Self.partCount)))
    guard count > 0 else { return [] }
    writtenBytes = count == Self.partCount ? 0 : writtenBytes - Int64(count) * share
    defer { nextPart = (nextPart + count) % Self.partCount }
    return (nextPart..<(nextPart + count)).map { $0 % Self.partCount }
  }

  /// The files to evict for the limit, least recently used first.
  ///
  /// They include another twentieth of the limit, so not every stored record causes a search.
  func victims(limit: Int64) -> [(name: DiskName, slot: Slot)] {
    guard bytes > limit else { return [] }
    let all = parts.joined().map { (name: $0.key, slot: $0.value) }
      .ordered { ($0.slot.lastUse, $0.slot.change) < ($1.slot.lastUse, $1.slot.change) }
    var excess = bytes - (limit - limit / 20)
    let end = all.firstIndex { victim in
      defer { excess -= victim.slot.bytes }
      return excess <= 0
    }
    return Array(all[..<(end ?? all.endIndex)])
  }
}
