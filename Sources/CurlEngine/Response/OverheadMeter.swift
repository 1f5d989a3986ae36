import CMartletShim

/// Detects a chunked body whose coding is far larger than its content.
///
/// libcurl accepts chunk extensions of any length (RFC 9112 §7.1.1) and does not report them, so the bytes are counted
/// at the socket. The time limits handle bodies that are merely slow.
struct OverheadMeter {
  /// The maximum number of bytes on the socket per byte of the body.
  ///
  /// Chunks of one byte, with each part in its own TLS record, need about 100.
  static let maximumRatio: Int64 = 256
  static let allowance: Int64 = 1 << 20
  /// The number of turns between counts, after the first turns.
  ///
  /// A turn can bring many MiB if the peer is as fast as this machine, but usually it is as small as a packet.
  private static let interval = 16

  private var turns = 0
  /// The bytes on the socket and in the body at the last count.
  private var last: (taken: Int64, body: Int64)?

  /// Records a turn; returns whether the socket brought too many bytes for the body.
  mutating func isExceeded(body: Int64, on socket: CInt) -> Bool {
    turns += 1
    guard turns % Self.interval == 0 || turns == 2 || turns == 4 || turns == 8 else { return false }
    return isExceeded(body: body, taken: martlet_socket_taken(socket))
  }

  /// The same, with the number of bytes taken from the socket; negative if unknown.
  mutating func isExceeded(body: Int64, taken: Int64) -> Bool {
    guard taken >= 0 else { return false }
    guard let before = last else {
      last = (taken, body)
      return false
    }
    let more = taken - before.taken
    guard more > Self.allowance else { return false }
    guard more / Self.maximumRatio <= body - before.body else { return true }
    last = (taken, body)
    return false
  }
}
