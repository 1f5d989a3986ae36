/// Detects whether a request body progresses: whether the peer has acknowledged more of it.
///
/// The number of bytes given to libcurl does not show that, because libcurl may hold 1 MiB, and the socket some more.
struct UploadProgressMonitor {
  /// The bytes that libcurl may hold after counting them as written, and the bytes of framing.
  ///
  /// Both apply to a shared connection.
  private static let (held, framing): (Int64, Int64) = (64 << 10, 256)

  private var written: Int64 = 0
  private var acknowledged: Int64 = 0
  /// The position in a shared connection up to which it may contain bytes of this body.
  private var end: Int64 = 0

  /// Compares with the last check; returns whether the body has progressed.
  ///
  /// `written` is the number of body bytes that libcurl has written. `acknowledged` counts bytes of the connection, and
  /// `queued` those of them in the socket. `isShared` says whether other transfers may also use the connection.
  mutating func hasMoved(written: Int64, acknowledged: Int64, queued: Int64, isShared: Bool) -> Bool {
    let before = self
    (self.written, self.acknowledged) = (written, acknowledged)
    guard written == before.written else {
      end = acknowledged &+ queued &+ min(Self.held, written) &+ Self.framing
      return true
    }
    // Bytes given to OpenSSL count as written only when all of them are in the socket.
    return acknowledged != before.acknowledged && (!isShared || before.acknowledged < end)
  }
}
