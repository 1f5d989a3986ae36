/// Sockets whose write events have no effect, because HTTP/2 flow control holds back a request body.
///
/// libcurl 7.88 to 8.14 wait for write events nonetheless, which would occupy a processor. Their write events are then
/// ignored until the socket is readable, because the server may have enlarged a window, or until a pause is over.
struct VainWrites {
  /// The number of write events after which to check whether bytes were sent.
  static let interval = 32
  /// The pauses in microseconds, each twice as long as the one before.
  static let pauses: ClosedRange<Int64> = 1_000...64_000

  private struct Socket {
    /// The number of events until the next check.
    var events = interval
    /// The bytes sent at the last check.
    var sent: Int64?
    var pause: Int64 = 0
    /// The end of the pause.
    var end: Int64?
  }

  private var sockets: [CInt: Socket] = [:]
  private var pausedCount = 0

  var hasPaused: Bool { pausedCount > 0 }
  /// The end of the next pause, in microseconds.
  var time: Int64? { hasPaused ? sockets.values.compactMap(\.end).min() : nil }

  func isPaused(_ socket: CInt) -> Bool { hasPaused && sockets[socket]?.end != nil }

  /// Records a write event; returns whether a pause begins.
  ///
  /// `sent` is the number of bytes that the socket has accepted so far.
  mutating func hadEvent(_ socket: CInt, at now: Int64, sent: () -> Int64) -> Bool {
    var known = sockets[socket] ?? Socket()
    defer { sockets[socket] = known }
    known.events -= 1
    guard known.events <= 0, known.end == nil else { return false }
    known.events = Self.interval
    let sent = sent()
    guard known.sent == sent else {
      known.sent = sent
      known.pause = 0
      return false
    }
    known.pause = min(max(2 * known.pause, Self.pauses.lowerBound), Self.pauses.upperBound)
    known.end = now + known.pause
    pausedCount += 1
    return true
  }

  /// Ends a pause; returns whether there was one.
  mutating func resume(_ socket: CInt) -> Bool {
    guard isPaused(socket) else { return false }
    sockets[socket]?.end = nil
    // If the next event has no effect either, the pause continues.
    sockets[socket]?.events = 1
    pausedCount -= 1
    return true
  }

  /// Ends the pauses that are over, and returns their sockets.
  mutating func resume(at now: Int64) -> [CInt] {
    let over = sockets.compactMap { ($0.value.end ?? .max) <= now ? $0.key : nil }
    return over.filter { resume($0) }
  }

  mutating func forget(_ socket: CInt) {
    guard !sockets.isEmpty, let known = sockets.removeValue(forKey: socket) else { return }
    if known.end != nil { pausedCount -= 1 }
  }
}
