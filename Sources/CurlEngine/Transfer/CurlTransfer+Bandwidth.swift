package import MartletBase
import CMartletShim

/// The part of one transfer in the limit of its client; under the lock of the loop.
package final class CurlThrottle {
  /// What one direction may still move before it has to wait for its turn.
  struct Share {
    let lane: BandwidthLane
    /// Less than nothing if a piece was larger than what was left of a turn; the next turn is shorter then.
    fileprivate(set) var credit = 0

    /// - Returns: `nil` if bytes may move, or when to ask again, in microseconds from now.
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
  /// Since when it waits for a turn, in either direction.
  fileprivate var start: Int64?

  /// Where it adds up how long it has waited.
  fileprivate let time: ThrottledTime?

  package init(down: BandwidthLane?, up: BandwidthLane?, _ time: ThrottledTime?) {
    self.down = down.map { Share(lane: $0) }
    self.up = up.map { Share(lane: $0) }
    self.time = time
  }

  /// How many bytes libcurl is to receive at once; `nil` if that is all the same.
  var pieceSize: Int? { down?.lane.slice }

  func received(_ count: Int) { down?.credit -= count }

  func sent(_ count: Int) { up?.credit -= count }
}

extension CurlTransfer {
  /// What is given to libcurl at a time for a frame of HTTP/2 (RFC 9113 §4.2).
  private static let largestFrame = 16 << 10
  /// After how many microseconds to look once more whether a socket has room.
  private static let roomPatience: Int64 = 2_000

  /// While it does not wait for the network, no limit for that applies.
  func wait(for reason: CurlWaits) {
    life.wait(for: reason)
    sink.setPaused(true)
  }

  func waitsHaveChanged() {
    sink.setPaused(life.isAtRest)
    if life.waits.isDisjoint(with: [.down, .up]) { noteTurn() }
  }

  /// Adds up how long it has waited for turns.
  private func noteTurn() {
    guard let throttle, let start = throttle.start else { return }
    throttle.start = nil
    throttle.time?.add(microseconds: martlet_microseconds() - start)
  }

  private func waitForTurn(_ direction: CurlWaits, _ time: Int64) {
    throttle?.start = throttle?.start ?? martlet_microseconds()
    wait(for: direction)
    handle?.loop.throttle(self, for: time)
  }

  /// What of a buffer may be filled for a connection of HTTP/2; `nil` if the socket has no room, and the loop goes on with it
  /// when there is.
  ///
  /// libcurl from 7.88 until 8.1 sends bytes twice if the socket is full after they were made a frame. It asks when a third of
  /// the socket's buffer is free, but after a pause at once.
  func fitting(_ buffer: UnsafeMutableRawBufferPointer) -> UnsafeMutableRawBufferPointer? {
    guard CurlLibrary.repeatsUploads, let handle, handle.isMultiplexed else { return buffer }
    if let socket = handle.loop.connection(of: handle), !martlet_socket_has_room(socket) {
      life.wait(for: .room)
      handle.loop.throttle(self, for: Self.roomPatience)
      return nil
    }
    return UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Self.largestFrame))
  }

  /// Whether bytes may be received now; if not, the loop goes on with it in its turn.
  func mayReceive() -> Bool {
    guard let throttle, let time = throttle.down?.claim(ObjectIdentifier(self), at: martlet_microseconds()) else {
      return true
    }
    waitForTurn(.down, time)
    return false
  }

  /// As much of a buffer as may be sent now; `nil` if that is nothing, and the loop goes on with it in its turn.
  func limited(_ buffer: UnsafeMutableRawBufferPointer) -> UnsafeMutableRawBufferPointer? {
    guard let throttle, throttle.up != nil else { return buffer }
    if let time = throttle.up?.claim(ObjectIdentifier(self), at: martlet_microseconds()) {
      waitForTurn(.up, time)
      return nil
    }
    return UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(throttle.up?.credit ?? 0))
  }

  /// Ends the waits whose turn has come; returns whether libcurl has to go on, and when to look for the other ones, in
  /// microseconds from now.
  func takeTurn(at now: Int64) -> (goesOn: Bool, wait: Int64?) {
    var ended: CurlWaits = []
    let down = life.waits.contains(.down) ? throttle?.down?.claim(ObjectIdentifier(self), at: now) : nil
    let up = life.waits.contains(.up) ? throttle?.up?.claim(ObjectIdentifier(self), at: now) : nil
    ended.insert(.room)
    if down == nil { ended.insert(.down) }
    if up == nil { ended.insert(.up) }
    ended.formIntersection(life.waits)
    if !ended.isEmpty {
      life.endWaiting(for: ended)
      waitsHaveChanged()
    }
    let wait = [down, up].compactMap { $0 }.min()
    return (!ended.isEmpty, wait)
  }

  /// It sends no more, and those behind it must not wait for it.
  func leaveUploadThrottle() { throttle?.up?.leave(ObjectIdentifier(self)) }

  /// It moves no more bytes.
  func leaveThrottle() {
    noteTurn()
    throttle?.down?.leave(ObjectIdentifier(self))
    throttle?.up?.leave(ObjectIdentifier(self))
  }
}
