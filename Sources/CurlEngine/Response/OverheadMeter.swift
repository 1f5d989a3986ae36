import CMartletShim

/// Notices a body in chunks whose coding is far larger than the body.
///
/// libcurl reads chunk extensions of any length (RFC 9112 §7.1.1) and tells nobody, so the bytes are counted at the
/// socket. What is only slow is left to the time limits.
struct OverheadMeter {
  /// How many bytes may come for each byte of the body.
  ///
  /// Chunks of one byte, each part of them in a TLS record of its own, need about 100.
  static let maximumRatio: Int64 = 256
  /// How many bytes may come whatever the body.
  static let allowance: Int64 = 1 << 20
  /// In how many turns the bytes are counted once, after the first ones.
  ///
  /// A turn can be of many MiB where a peer is as fast as this machine, but mostly it is as small as a packet.
  private static let interval = 16

  private var turns = 0
  /// What had come, and how much body there was, when it was last looked at.
  private var last: (taken: Int64, body: Int64)?

  /// Notes a turn; `true` if too much came on the socket for the bytes of the body so far.
  mutating func isExceeded(body: Int64, on socket: CInt) -> Bool {
    turns += 1
    guard turns % Self.interval == 0 || turns == 2 || turns == 4 || turns == 8 else { return false }
    return isExceeded(body: body, taken: martlet_socket_taken(socket))
  }

  /// The same, with what was taken from the socket; negative if that is unknown.
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
