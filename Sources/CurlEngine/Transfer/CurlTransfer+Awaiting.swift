import CMartletShim

extension CurlTransfer {
  /// The number of bytes in one turn of the loop from which a body is fast.
  static let fastTurn = 16 << 10
  /// The maximum number of bytes that libcurl receives at once.
  ///
  /// Older versions of libcurl allocate their buffer again for each transfer. A large one slows down a small response,
  /// because the C library returns that much memory to the system again and again. It pays only for a large body, and
  /// not over TLS, which provides at most 16 KiB at a time.
  var receiveSize: Int { throttle?.pieceSize ?? usualReceiveSize }
  /// The number of bytes in one turn from which libcurl's buffer may be full.
  var fullBuffer: Int { usualReceiveSize / 2 }

  private var usualReceiveSize: Int {
    if job.isUpgrade { return 64 << 10 }
    return job.isStreamed && !job.isSecure ? 256 << 10 : Int(martlet_receive_size)
  }
}

/// Callers that wait inline for the response.
extension CurlTransfer {
  /// Sends the request on this thread if possible, otherwise passes it to the loop.
  ///
  /// Returns the argument for ``awaitAnswer(on:)`` if the response is likely to arrive so soon that this thread should
  /// wait for it.
  package func startHere() -> CInt? { mailbox.start(self) }

  /// Waits for the response, for no longer than ``InlineWaitHeuristic/patience``.
  package func awaitAnswer(on socket: CInt) { mailbox.awaitAnswer(to: self, on: socket) }

  /// Whether the caller can wait only for the server.
  var mayBeAwaited: Bool { throttle == nil && upload?.isInMemory != false }

  /// Whether so many bytes have arrived that the caller should read instead of waiting.
  var isLarge: Bool { life.received > Self.fastTurn || life.isPaused }
}
