/// The transfer whose caller waits for its answer on a thread of its own.
///
/// The set of the loop's thread does not have its socket meanwhile: nothing wakes that thread.
struct AwaitedAnswer {
  private var pace: AnswerPace
  private(set) var transfer: CurlTransfer?
  /// When the request was sent, on a connection that was open already; 0 if that says nothing of the server's pace.
  private var since: Int64 = 0
  /// Whether the next socket that is read from is the one.
  private var wantsSocket = false
  private(set) var socket: CInt?

  init(_ pace: AnswerPace) { self.pace = pace }

  /// Begins with a transfer that is the only one in flight.
  mutating func begin(_ transfer: CurlTransfer) {
    self.transfer = transfer
    since = 0
    wantsSocket = pace.isQuick && transfer.mayBeAwaited
  }

  mutating func wasSent(_ transfer: CurlTransfer, at now: Int64) {
    if self.transfer === transfer, transfer.handle?.isReused == true { since = now }
  }

  mutating func hasHead(_ transfer: CurlTransfer, at now: @autoclosure () -> Int64) {
    guard since > 0, self.transfer === transfer else { return }
    pace.note(now() - since)
    since = 0
  }

  /// Not all came in time: the head, or the body after it.
  mutating func wasInVain() {
    pace.note(.max)
    since = 0
  }

  /// Whether libcurl's wish to read from a socket is left to the caller.
  mutating func takes(_ socket: CInt, of easy: UnsafeMutableRawPointer?) -> Bool {
    guard wantsSocket || self.socket == socket, let easy, transfer?.handle?.easy == easy else { return false }
    wantsSocket = false
    self.socket = socket
    return true
  }

  /// Gives the socket back to the loop.
  mutating func takeSocket() -> CInt? {
    wantsSocket = false
    defer { socket = nil }
    return socket
  }

  mutating func forget(_ transfer: CurlTransfer?) { if transfer === self.transfer { self.transfer = nil } }
}
