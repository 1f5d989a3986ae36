package import MartletBase
import CMartletShim

/// One transfer's share of the client's bandwidth limit.
///
/// Used under the loop's lock.
package final class CurlThrottle {
  /// The bytes that one direction may transfer before the next turn.
  struct Share {
    let lane: RateLimiter
    /// The bytes left in a turn; negative if a chunk was larger.
    ///
    /// The next turn is then shorter.
    fileprivate(set) var credit = 0

    /// - Returns: `nil` if bytes may be transferred, otherwise the microseconds until the next attempt.
    fileprivate mutating func claim(_ id: ObjectIdentifier, at now: Int64) -> Int64? {
      while credit <= 0 {
        if let wait = lane.claim(id, at: now) { return wait }
        credit += lane.slice
      }
      return nil
    }

    fileprivate mutating func leave(_ id: ObjectIdentifier) {
      lane.leave(id, returning: credit)
      credit = 0
    }
  }

  fileprivate var down: Share?
  fileprivate var up: Share?
  /// The time since which the transfer waits for a turn, in either direction.
  fileprivate var start: Int64?
  /// The total of the waiting time.
  fileprivate let time: ThrottledTime?

  package init(down: RateLimiter?, up: RateLimiter?, _ time: ThrottledTime?) {
    self.down = down.map { Share(lane: $0) }
    self.up = up.map { Share(lane: $0) }
    self.time = time
  }

  /// The maximum number of bytes that libcurl receives at once; `nil` for the default.
  var pieceSize: Int? { down?.lane.slice }

  func received(_ count: Int) { down?.credit -= count }

  func sent(_ count: Int) { up?.credit -= count }
}

extension CurlTransfer {
  /// The maximum number of bytes given to libcurl for one HTTP/2 frame (RFC 9113 §4.2).
  private static let largestFrame = 16 << 10
  /// The microseconds until the next check whether a socket has room.
  private static let roomPatience: Int64 = 2_000

  /// Starts a wait for something other than the network, whose limits do not apply then.
  func wait(for reason: CurlWaits) {
    life.wait(for: reason)
    sink.setPaused(true)
  }

  func waitsHaveChanged() {
    sink.setPaused(life.isAtRest)
    if life.waits.isDisjoint(with: [.down, .up]) { recordTurn() }
  }

  private func recordTurn() {
    guard let throttle, let start = throttle.start.take() else { return }
    throttle.time?.add(microseconds: martlet_microseconds() - start)
  }

  private func waitForTurn(_ direction: CurlWaits, _ time: Int64) {
    throttle?.start = throttle?.start ?? martlet_microseconds()
    wait(for: direction)
    handle?.loop.throttle(self, for: time)
  }

  /// The part of a buffer to fill for an HTTP/2 connection.
  ///
  /// libcurl from 7.88 until 8.1 sends bytes twice if the socket is full after it has made a frame of them. It requests
  /// bytes when a third of the socket's buffer is free, but after a pause at once. Returns `nil` if the socket has no
  /// room; the loop continues when it has.
  func fitting(_ buffer: UnsafeMutableRawBufferPointer) -> UnsafeMutableRawBufferPointer? {
    guard CurlLibrary.repeatsUploads, let handle, handle.isMultiplexed else { return buffer }
    if let socket = handle.loop.connection(of: handle), !martlet_socket_has_room(socket) {
      life.wait(for: .room)
      handle.loop.throttle(self, for: Self.roomPatience)
      return nil
    }
    return UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Self.largestFrame))
  }

  /// Whether bytes may be received now; if not, the loop continues at the transfer's turn.
  func mayReceive() -> Bool {
    guard let throttle, let time = throttle.down?.claim(ObjectIdentifier(self), at: martlet_microseconds()) else {
      return true
    }
    waitForTurn(.down, time)
    return false
  }

  /// The part of a buffer that may be sent now.
  ///
  /// Returns `nil` if there is none; the loop continues at the transfer's turn.
  func limited(_ buffer: UnsafeMutableRawBufferPointer) -> UnsafeMutableRawBufferPointer? {
    guard let throttle, throttle.up != nil else { return buffer }
    if let time = throttle.up?.claim(ObjectIdentifier(self), at: martlet_microseconds()) {
      waitForTurn(.up, time)
      return nil
    }
    return UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(throttle.up?.credit ?? 0))
  }

  /// Ends the waits whose turn has come.
  ///
  /// Returns whether libcurl has to continue, and the microseconds until the next check of the other waits.
  func takeTurn(at now: Int64) -> (goesOn: Bool, wait: Int64?) {
    var ended: CurlWaits = .room
    let down = life.waits.contains(.down) ? throttle?.down?.claim(ObjectIdentifier(self), at: now) : nil
    let up = life.waits.contains(.up) ? throttle?.up?.claim(ObjectIdentifier(self), at: now) : nil
    if down == nil { ended.insert(.down) }
    if up == nil { ended.insert(.up) }
    ended.formIntersection(life.waits)
    if !ended.isEmpty {
      life.endWaiting(for: ended)
      waitsHaveChanged()
    }
    return (!ended.isEmpty, [down, up].compactMap { $0 }.min())
  }

  /// Ends the upload's use of the limit, so waiting transfers need not wait for it.
  func leaveUploadThrottle() { throttle?.up?.leave(ObjectIdentifier(self)) }

  func leaveThrottle() {
    recordTurn()
    throttle?.down?.leave(ObjectIdentifier(self))
    leaveUploadThrottle()
  }
}
