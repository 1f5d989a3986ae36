import CMartletShim

/// Name lookups that outlast their transfers, each with its transfer's slot.
///
/// libcurl uses one thread per lookup, and no system call can end a lookup. When the transfer ends, libcurl closes its
/// end of the socket pair on which the thread would report the addresses. A copy of that end shows when the thread
/// ends, because the thread then closes the other end.
///
/// libcurl 8.9 to 8.19 uses an `eventfd` instead. It signals available addresses, but not the end of an abandoned
/// lookup. So the slot is kept for a second, plus one second per other lookup that is kept. Users who cancel while name
/// lookups work then wait only briefly, and a silent name server leads to few threads.
struct AbandonedLookups {
  private struct Lookup {
    /// The transfer that began the lookup; it may continue if another lookup was quicker.
    var owner: ObjectIdentifier?
    /// The transfer's slot, once the transfer has ended.
    var slot: (any CurlSlot)?
    let end: Int64
  }

  /// The longest time to keep a slot, in microseconds.
  ///
  /// The resolver's own limits are shorter, unless it has many servers.
  private static let patience: Int64 = 60_000_000

  /// The same if the end of a lookup is not visible.
  ///
  /// A resolver with two silent servers takes about as long.
  private static let longestGuess: Int64 = 20_000_000

  private let poll: CInt
  /// Whether the end of a lookup is not visible.
  private let hidesEnds: Bool
  private var lookups: [CInt: Lookup] = [:]

  init(poll: CInt, version: UInt32 = martlet_curl_version()) {
    self.poll = poll
    hidesEnds = (0x080900..<0x081400).contains(version)
  }

  var isEmpty: Bool { lookups.isEmpty }
  var count: Int { lookups.count }

  /// The time to release overdue slots, if no thread ends before.
  var time: Int64? { lookups.values.lazy.map(\.end).min() }

  /// Records that libcurl is about to close the socket of `owner`'s lookup.
  mutating func closes(_ socket: CInt, of owner: AnyObject) {
    // A lookup that has reported its addresses has ended.
    let copy = martlet_copy_unwritten(socket, hidesEnds)
    guard copy >= 0 else { return }
    guard martlet_poll_watch(poll, copy, 1, true) else { return martlet_close(copy) }
    let guess = min(Int64(lookups.count + 1) * 1_000_000, Self.longestGuess)
    let end = martlet_microseconds() + (hidesEnds ? guess : Self.patience)
    lookups[copy] = Lookup(owner: ObjectIdentifier(owner), end: end)
  }

  /// Records the end of a transfer; its unfinished lookups keep its slot.
  mutating func ends(_ owner: AnyObject, slot: any CurlSlot) {
    let name = ObjectIdentifier(owner)
    for socket in lookups.keys where lookups[socket]?.owner == name {
      lookups[socket]?.owner = nil
      lookups[socket]?.slot = slot.handOn()
    }
  }

  mutating func act(on socket: CInt) {
    // The event may belong to an earlier socket with the same number.
    if lookups[socket] != nil, martlet_is_any_readable([socket], 1) { end(socket) }
  }

  private mutating func end(_ socket: CInt) {
    let lookup = lookups.removeValue(forKey: socket)
    martlet_close(socket)
    lookup?.slot?.release()
  }

  mutating func endOverdue(at now: Int64 = martlet_microseconds()) {
    for (socket, lookup) in lookups where lookup.end <= now { end(socket) }
  }

  mutating func endAll() { for socket in lookups.keys { end(socket) } }
}
