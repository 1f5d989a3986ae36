/// What is known of the files of a store, as a hint: other processes add and remove some, too.
///
/// It is kept in 256 parts, one a folder, each of which can be looked at anew for itself, so that no store waits for all.
struct DiskIndex {
  /// The files of one key.
  struct Slot: Equatable {
    /// The bytes of the record's file and of the body's.
    var bytes: Int64
    /// The number of the body; 0 if it has no file of its own.
    var body: UInt64 = 0
    /// Microseconds since 1970.
    var lastUse: Int64
    /// When the slot was changed, in changes; of two that were used at the same time, the one stored first goes first.
    fileprivate(set) var change: UInt64 = 0
  }

  static let partCount = 256

  private(set) var bytes: Int64 = 0
  /// How often anything was changed here.
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
    guard let place = parts[name.folder].index(forKey: name) else { return }
    let before = parts[name.folder].values[place].lastUse
    parts[name.folder].values[place].lastUse = max(before, time)
  }

  /// Takes what was found in a folder for all that is there, but for what was changed since.
  mutating func replace(part: Int, with found: [DiskName: Slot], since start: UInt64) {
    let old = parts[part]
    var new = found
    for (name, slot) in old {
      if slot.change > start {
        new[name] = slot
      } else if let place = new.index(forKey: name) {
        // The file tells of a use only now and then.
        new.values[place].lastUse = max(new.values[place].lastUse, slot.lastUse)
        new.values[place].change = slot.change
      }
    }
    bytes += new.values.reduce(0) { $0 + $1.bytes } - old.values.reduce(0) { $0 + $1.bytes }
    parts[part] = new
  }

  /// Notes that something was written, and tells which folders are to be looked at again for it.
  ///
  /// All have had their turn after a twentieth of the limit, or a quarter of what is free; so two processes that know
  /// nothing of each other are at most that far from the limit.
  mutating func partsDue(afterWriting written: Int64, limit: Int64) -> [Int] {
    writtenBytes += written
    let share = max(max(limit / 20, (limit - bytes) / 4) / Int64(Self.partCount), 1)
    let count = Int(min(writtenBytes / share, Int64(Self.partCount)))
    guard count > 0 else { return [] }
    writtenBytes = count == Self.partCount ? 0 : writtenBytes - Int64(count) * share
    defer { nextPart = (nextPart + count) % Self.partCount }
    return (nextPart..<(nextPart + count)).map { $0 % Self.partCount }
  }

  /// What has to go so that no more than the limit is there, the longest unused first, and a twentieth more, so that
  /// not every store has to look for the oldest.
  func victims(limit: Int64) -> [(name: DiskName, slot: Slot)] {
    guard bytes > limit else { return [] }
    var all: [(name: DiskName, slot: Slot)] = []
    all.reserveCapacity(count)
    for part in parts { for (name, slot) in part { all.append((name, slot)) } }
    all.sort { ($0.slot.lastUse, $0.slot.change) < ($1.slot.lastUse, $1.slot.change) }
    var excess = bytes - (limit - limit / 20)
    let end = all.firstIndex { victim in
      defer { excess -= victim.slot.bytes }
      return excess <= 0
    }
    return Array(all[..<(end ?? all.endIndex)])
  }
}
