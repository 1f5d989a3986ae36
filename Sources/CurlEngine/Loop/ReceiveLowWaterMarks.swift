import CMartletShim

/// The receive low-water marks of sockets, for large and fast bodies (`SO_RCVLOWAT`).
///
/// Waiting costs more than reading. A body that arrives fast will continue to do so. Therefore the system may gather
/// bytes until the mark is reached, or for about a ``patience``.
///
/// ```
///   turns with many bytes ──▶ raised ──few bytes in a patience──▶ lowered, and the socket is read
///                               └──the rest is short, or over──▶ lowered
/// ```
///
/// Each loop has its own instance, used under the loop's lock.
package struct ReceiveLowWaterMarks: Sendable {
  /// The raised mark, in bytes.
  static let mark: Int64 = 192 << 10

  private struct Entry {
    var turns = 0
    /// When the last turn with many bytes was.
    var time: Int64
    /// The socket whose mark is raised.
    var socket: CInt?
    var received: Int64
    /// The value of `received` at the last check.
    var seen: Int64 = 0
  }

  /// The number of consecutive turns with many bytes that raises the mark.
  let turns: Int
  /// The longest time that bytes wait, and between turns that count, in microseconds.
  let patience: Int64
  private let set: @Sendable (CInt, CInt) -> Void
  private var entries: [ObjectIdentifier: Entry] = [:]
  /// When to call ``look(at:)``; `nil` if there is nothing to check.
  private(set) var time: Int64?

  /// Creates an instance without bodies; `set` sets a socket's mark, 1 for none.
  package init(
    turns: Int = 8, patience: Int64 = 1_000,
    set: @escaping @Sendable (CInt, CInt) -> Void = { martlet_set_receive_mark($0, $1) }
  ) {
    self.turns = turns
    self.patience = patience
    self.set = set
  }

  /// Records that many bytes of a body arrived in one turn of the loop.
  ///
  /// The body, which its transfer identifies, has `received` bytes by `now`, in microseconds. `rest` is the number of
  /// bytes that have yet to arrive, or `nil` if unknown.
  mutating func hasTurn(
    of body: AnyObject, _ received: Int64, rest: Int64?, at now: Int64, on socket: @autoclosure () -> CInt?
  ) {
    // The last bytes would not reach the mark.
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

  /// Lowers the marks of bodies that no longer arrive fast, if it is time.
  ///
  /// Returns their sockets, in which bytes may wait.
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

  /// Removes a body that has ended or nearly ended; its connection may serve others.
  mutating func forget(_ body: AnyObject) {
    guard !entries.isEmpty, let entry = entries.removeValue(forKey: ObjectIdentifier(body)) else { return }
    if let socket = entry.socket { set(socket, 1) }
    if entries.isEmpty { time = nil }
  }

  /// Removes a closed socket, whose number may be reused.
  mutating func closed(_ socket: CInt) {
    for (body, entry) in entries where entry.socket == socket { entries[body]?.socket = nil }
  }
}

extension CurlLoop {
  func lookAtMarks(_ multi: UnsafeMutableRawPointer) {
    for socket in marks.look(at: martlet_microseconds()) where (watches[socket]?.wanted ?? 0) & 1 != 0 {
      act(on: martlet_event(socket: socket, events: 1), multi)
    }
  }
}
