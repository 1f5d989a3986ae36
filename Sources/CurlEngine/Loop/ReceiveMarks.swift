import CMartletShim

/// The marks below which sockets do not wake the loop, for large bodies that come fast (`SO_RCVLOWAT`).
///
/// To wait costs more than to read. A body that comes fast comes on, so the system may gather it: until the mark is
/// reached, or for about a ``patience``.
///
/// ```
///   turns with much ──▶ raised ──little in a patience──▶ lowered, and looked at
///                         └──the rest is short, or over──▶ lowered
/// ```
///
/// Each loop has its own, used under its lock.
package struct ReceiveMarks: Sendable {
  /// What is gathered, in bytes.
  static let mark: Int64 = 192 << 10

  private struct Entry {
    var turns = 0
    /// When the last turn with much was.
    var time: Int64
    /// Where the mark is raised.
    var socket: CInt?
    var received: Int64
    /// How much had come when it was looked at.
    var seen: Int64 = 0
  }

  /// How many turns with much have to follow each other.
  let turns: Int
  /// How long bytes may wait, and how near to each other turns are that count, in microseconds.
  let patience: Int64
  private let set: @Sendable (CInt, CInt) -> Void
  private var entries: [ObjectIdentifier: Entry] = [:]
  /// When to call ``look(at:)``; `nil` if there is nothing to look at.
  private(set) var time: Int64?

  /// Makes marks for no body; `set` sets the mark of a socket, 1 for none.
  package init(
    turns: Int = 8, patience: Int64 = 1_000,
    set: @escaping @Sendable (CInt, CInt) -> Void = { martlet_set_receive_mark($0, $1) }
  ) {
    self.turns = turns
    self.patience = patience
    self.set = set
  }

  /// Much of a body came in one turn of the loop: `received` by `now`, in microseconds, and `rest` is still to come.
  ///
  /// The body is known by its transfer; `rest` is `nil` if it is not known.
  mutating func hasTurn(
    of body: AnyObject, _ received: Int64, rest: Int64?, at now: Int64, on socket: @autoclosure () -> CInt?
  ) {
    // Its last bytes do not reach the mark.
    guard let rest, rest > 2 * Self.mark else { return forget(body) }
    let id = ObjectIdentifier(body)
    var entry = entries[id] ?? Entry(time: now, received: received)
    entry.turns = now - entry.time <= patience ? entry.turns + 1 : 1
    entry.time = now
    entry.received = received
    if entry.turns >= turns, entry.socket == nil, let socket = socket() {
      set(socket, CInt(Self.mark))
      entry.socket = socket
      entry.seen = received
    }
    entries[id] = entry
    time = time ?? now + patience
  }

  /// Lowers the marks of what does not come fast any more, if it is time for that; there may be something in the
  /// sockets.
  mutating func look(at now: Int64) -> [CInt] {
    guard let time, time <= now else { return [] }
    var lowered: [CInt] = []
    for (body, entry) in entries {
      if let socket = entry.socket {
        guard entry.received - entry.seen < Self.mark else {
          entries[body]?.seen = entry.received
          continue
        }
        set(socket, 1)
        lowered.append(socket)
      } else if now - entry.time <= patience {
        continue
      }
      entries[body] = nil
    }
    self.time = entries.isEmpty ? nil : now + patience
    return lowered
  }

  /// The body is over, or nearly: its connection may serve others.
  mutating func forget(_ body: AnyObject) {
    guard !entries.isEmpty, let entry = entries.removeValue(forKey: ObjectIdentifier(body)) else { return }
    if let socket = entry.socket { set(socket, 1) }
    if entries.isEmpty { time = nil }
  }

  /// A socket was closed: its number may be another one's.
  mutating func closed(_ socket: CInt) {
    for (body, entry) in entries where entry.socket == socket { entries[body]?.socket = nil }
  }
}
