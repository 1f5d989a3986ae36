/// Tells whether a request body moves: whether the peer has acknowledged more of it.
///
/// What libcurl was given says nothing of that: it may hold 1 MiB, and the socket some more.
struct UploadPace {
  /// How much of the body libcurl may keep on a shared connection though it counts as written, and what frames it.
  private static let (held, framing): (Int64, Int64) = (64 << 10, 256)

  private var written: Int64 = 0
  private var acknowledged: Int64 = 0
  /// Up to which place of a shared connection bytes of this body may stand.
  private var end: Int64 = 0

  /// Compares with the last time; `true` if the body has moved.
  ///
  /// `written` counts what libcurl has written of the body; `acknowledged` counts bytes of the connection, and `queued`
  /// those of them in the socket. `isShared` says whether others may use the connection, too.
  mutating func hasMoved(written: Int64, acknowledged: Int64, queued: Int64, isShared: Bool) -> Bool {
    let before = self
    (self.written, self.acknowledged) = (written, acknowledged)
    guard written == before.written else {
      end = acknowledged &+ queued &+ min(Self.held, written) &+ Self.framing
      return true
    }
    // Of what OpenSSL is given nothing counts as written before it is all in the socket.
    return acknowledged != before.acknowledged && (!isShared || before.acknowledged < end)
  }
}
