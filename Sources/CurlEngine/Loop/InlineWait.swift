/// The transfer whose caller waits inline for the response, or for the next bytes of an upgraded connection.
///
/// Meanwhile its socket is not in the poll set of the loop's thread, so it does not wake that thread.
struct InlineWait {
  private var pace: InlineWaitHeuristic
  private(set) var transfer: CurlTransfer?
  /// When the request was sent on an open connection; 0 if its time does not count.
  private var since: Int64 = 0
  /// Whether to take the next socket that libcurl reads from.
  private var wantsSocket = false
  private(set) var socket: CInt?

  init(_ pace: InlineWaitHeuristic) { self.pace = pace }

  mutating func begin(_ transfer: CurlTransfer) {
    self.transfer = transfer
    since = 0
    wantsSocket = pace.isQuick && transfer.mayBeAwaited
  }

  mutating func wasSent(_ transfer: CurlTransfer, at now: Int64) {
    if self.transfer === transfer, transfer.handle?.isReused == true { since = now }
  }

  /// Records that bytes were written on an upgraded connection, so the server may answer.
  mutating func wrote(_ transfer: CurlTransfer, at now: Int64) { (self.transfer, since) = (transfer, now) }

  /// Records the head of the response, or the first bytes after a write on an upgraded connection.
  mutating func wasAnswered(_ transfer: CurlTransfer, at now: @autoclosure () -> Int64) {
    guard since > 0, self.transfer === transfer else { return }
    pace.record(now() - since)
    since = 0
  }

  /// Records that the head, or the body after it, did not arrive in time.
  mutating func wasInVain() {
    pace.record(.max)
    since = 0
  }

  /// Whether the caller waits for this socket instead of the loop.
  mutating func takes(_ socket: CInt, of easy: UnsafeMutableRawPointer?) -> Bool {
    guard wantsSocket || self.socket == socket, let easy, transfer?.handle?.easy == easy else { return false }
    wantsSocket = false
    self.socket = socket
    return true
  }

  /// Waits on the socket of an upgraded connection if the next bytes are likely to arrive soon.
  mutating func beginWaiting(on socket: CInt, for transfer: CurlTransfer) -> Bool {
    guard since > 0, pace.isQuick, self.transfer === transfer else { return false }
    self.socket = socket
    return true
  }

  mutating func takeSocket() -> CInt? {
    wantsSocket = false
    return socket.take()
  }

  mutating func forget(_ transfer: CurlTransfer) { if transfer === self.transfer { self.transfer = nil } }
}
