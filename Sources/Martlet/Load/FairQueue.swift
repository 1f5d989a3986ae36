import MartletBase

/// Waiting requests, by priority, then by caller in turn, then by age.
///
/// The cost of adding, removing and taking a request does not depend on the number of waiting requests.
struct FairQueue {
  /// The caller of a request; callers take turns.
  enum Caller: Hashable {
    case anybody
    /// The requests with a tag.
    case tag(String)
    /// The requests of a work with a deadline.
    case work(ObjectIdentifier)
  }

  /// The highest priority; the lowest one is its negative.
  ///
  /// Other values are clamped.
  static let highestPriority = 100

  private struct Line {
    var byCaller: [Caller: FirstInFirstOut<UInt64>] = [:]
    /// The callers with waiting requests, in the order of their turns.
    var turns = FirstInFirstOut<Caller>()

    mutating func push(_ id: UInt64, _ caller: Caller) {
      if byCaller[caller] == nil { turns.append(caller) }
      byCaller[caller, default: FirstInFirstOut()].append(id)
    }

    /// Takes the next request that is still waiting, and drops the ones before it.
    mutating func pop(_ isWaiting: (UInt64) -> Bool) -> UInt64? {
      while let caller = turns.popFirst() {
        while let id = byCaller[caller]?.popFirst() {
          guard isWaiting(id) else { continue }
          if byCaller[caller]?.isEmpty == true { byCaller[caller] = nil } else { turns.append(caller) }
          return id
        }
        byCaller[caller] = nil
      }
      return nil
    }

    mutating func keep(_ isKept: (UInt64) -> Bool) {
      var kept = Line()
      for caller in turns.all {
        for id in byCaller[caller]?.all.filter(isKept) ?? [] { kept.push(id, caller) }
      }
      self = kept
    }
  }

  /// The priorities in descending order, with their requests.
  private var lines: [(priority: Int, line: Line)] = []
  private var waiting: Set<UInt64> = []
  /// The number of entries left by the last sweep, plus those added since then.
  private var entries = 0

  var count: Int { waiting.count }
  var isEmpty: Bool { waiting.isEmpty }

  mutating func push(_ id: UInt64, priority: Int, caller: Caller) {
    let priority = min(max(priority, -Self.highestPriority), Self.highestPriority)
    let index = lines.firstIndex { $0.priority <= priority } ?? lines.endIndex
    if index == lines.endIndex || lines[index].priority != priority {
      lines.insert((priority, Line()), at: index)
    }
    lines[index].line.push(id, caller)
    waiting.insert(id)
    entries += 1
  }

  /// Takes the next request.
  mutating func pop() -> UInt64? {
    while !lines.isEmpty {
      if let id = lines[0].line.pop(waiting.contains) {
        waiting.remove(id)
        return id
      }
      lines.removeFirst()
    }
    return nil
  }

  /// Removes a request that no longer waits.
  mutating func remove(_ id: UInt64) {
    guard waiting.remove(id) != nil else { return }
    // The entry stays until its turn, unless there are many such entries.
    if entries > 64, entries > 2 * waiting.count {
      for index in lines.indices { lines[index].line.keep(waiting.contains) }
      entries = waiting.count
    }
  }

  /// Removes all requests.
  mutating func removeAll() -> [UInt64] {
    defer { self = FairQueue() }
    return waiting.ordered(by: <)
  }
}
