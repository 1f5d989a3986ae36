import CMartletShim

/// Name lookups that go on after their transfers were given up, each with the slot of its transfer.
///
/// libcurl has a thread for each lookup, and no call of the system can end one. With the transfer, libcurl closes its end of
/// the pair of sockets by which the thread would tell it of the addresses. A copy of that end tells when the thread ends,
/// because the thread then closes the other one.
///
/// libcurl 8.9 to 8.19 has an `eventfd` instead, which tells when the addresses are there and nothing of the end of a
/// lookup that was given up. Its slot is kept for a second, and for one more for each other one that is kept: a user who
/// cancels while names are looked up well waits little, and with a name server that is silent threads are few.
struct AbandonedLookups {
  private struct Lookup {
    /// The transfer that began it, and which goes on if another one's lookup was quicker.
    var owner: ObjectIdentifier?
    /// That of the transfer, once it is over.
    var slot: (any CurlSlot)?
    let end: Int64
  }

  /// How long a slot is kept at most, in microseconds: the resolver's own limits are shorter, unless it has many servers.
  private static let patience: Int64 = 60_000_000

  /// The same where the end of a lookup cannot be known; about what a resolver takes with two servers that are silent.
  private static let longestGuess: Int64 = 20_000_000

  private let poll: CInt
  /// Whether libcurl's lookups do not tell of their end.
  private let hidesEnds: Bool
  private var lookups: [CInt: Lookup] = [:]

  init(poll: CInt, version: UInt32 = martlet_curl_version()) {
    self.poll = poll
    hidesEnds = (0x080900..<0x081400).contains(version)
  }

  var isEmpty: Bool { lookups.isEmpty }
  var count: Int { lookups.count }

  /// When to look after them, if no thread ends before.
  var time: Int64? { lookups.values.lazy.map(\.end).min() }

  /// libcurl is about to close the socket of a lookup, which was for `owner`.
  mutating func closes(_ socket: CInt, of owner: AnyObject) {
    // What has told its addresses has ended.
    let copy = martlet_copy_unwritten(socket, hidesEnds)
    guard copy >= 0 else { return }
    guard martlet_poll_watch(poll, copy, 1, true) else { return martlet_close(copy) }
    let guess = min(Int64(lookups.count + 1) * 1_000_000, Self.longestGuess)
    let end = martlet_microseconds() + (hidesEnds ? guess : Self.patience)
    lookups[copy] = Lookup(owner: ObjectIdentifier(owner), end: end)
  }

  /// A transfer is over: a lookup of its own that goes on keeps its slot.
  mutating func ends(_ owner: AnyObject, slot: any CurlSlot) {
    let name = ObjectIdentifier(owner)
    for socket in lookups.keys where lookups[socket]?.owner == name {
      lookups[socket]?.owner = nil
      lookups[socket]?.slot = slot.handOn()
    }
  }

  /// Something has happened on a socket: if it is that of a lookup, the lookup has ended.
  mutating func act(on socket: CInt) {
    // The event may be one of a socket that had the same number.
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
