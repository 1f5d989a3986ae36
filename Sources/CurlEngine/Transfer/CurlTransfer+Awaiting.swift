import CMartletShim

extension CurlTransfer {
  /// With as many bytes in one turn of the loop a body comes fast.
  static let fastTurn = 16 << 10
  /// As many bytes in one turn may be all for which libcurl has room.
  static let fullBuffer = Int(martlet_receive_size) / 2
}

/// A caller that waits for the answer on its own thread.
extension CurlTransfer {
  /// Sends it on this thread, if that is possible, else hands it to the loop; returns what ``awaitAnswer(on:)`` needs,
  /// if the answer is likely to come so soon that this thread should wait for it.
  package func startHere() -> CInt? {
    let (isStarted, socket) = mailbox.start(self)
    if !isStarted { refuse() }
    return socket
  }

  /// Waits for the answer, for ``AnswerPace/patience`` at most.
  package func awaitAnswer(on socket: CInt) { mailbox.awaitAnswer(to: self, on: socket) }

  /// Whether only the server can keep its caller waiting.
  var mayBeAwaited: Bool { throttle == nil && upload?.isInMemory != false }

  /// Whether more has come than a caller waits for that could read meanwhile.
  var isLarge: Bool { life.received > Self.fastTurn || life.isPaused }
}
