#if os(Linux)
  import CMartletShim

  /// Responses that end before their requests are sent.
  extension CurlTransfer {
    /// There are bytes to send, or libcurl is not to wait for them any more.
    ///
    /// - Returns: Whether libcurl has to go on.
    func fed() -> Bool {
      guard holdsUpload || isUploadStopped, !isEnded else { return false }
      if waits.contains(.up) { leaveUploadThrottle() }
      endWaiting(for: [.bytes, .up])
      return true
    }

    /// Sends no more of the request, which the server has refused.
    ///
    /// libcurl does the same after such a head, unless the connection is closed after the response anyway.
    func stopUpload() {
      guard let upload else { return }
      isUploadStopped = true
      upload.stop()
      // Else it would wait for bytes before it ends.
      if holdsUpload || !isAlone { mailbox.post(.fed(self)) }
    }

    /// Watches the raw bytes of a chunked body for its end, if libcurl may not tell.
    func watchChunks(_ handle: CurlHandle) {
      guard wire.hasBody, CurlLibrary.hidesEnd, !hasSentAll(handle) else { return }
      chunks = ChunkEnd()
      handle.showRawBody()
    }

    /// Has the loop look whether the response is complete by its length.
    func noteLength() { if wire.hasBody, received == expected { handle?.loop.mayBeAnswered.append(self) } }

    /// How the response has ended though libcurl still sends.
    ///
    /// - Parameters:
    ///   - handle: Its handle, as long as it has one.
    ///   - isReading: Whether libcurl wants more of the response, as far as known.
    /// - Returns: The code that libcurl would end with, or `nil` if the response goes on.
    func endOfResponse(_ handle: CurlHandle?, isReading: Bool) -> CInt? {
      guard sends.count > 0, !isPaused, undecided == nil else { return nil }
      guard body != nil else { return isReading ? nil : 52 }  // GOT_NOTHING
      if isExpectationRefused { return isReading ? nil : 42 }  // ABORTED_BY_CALLBACK
      guard isAlone else {
        guard let handle, !hasSentAll(handle) else { return nil }
        if let expected, received == expected { return 0 }
        // It is about to be told that nothing more is sent, and ends then.
        if isUploadStopped, holdsUpload { return nil }
        // Of a connection that others use libcurl reads on. On one of its own it stops when the stream was reset, without an
        // error, and of what came with that libcurl 7.88 loses the last piece.
        return !isReading && handle.isAloneOnConnection ? 18 : nil
      }
      let isWhole: Bool? =
        if let expected {
          received == expected
        } else if overhead != nil && CurlLibrary.hidesEnd {
          chunks?.hasEnded
        } else { !isReading }
      guard let isWhole else { return nil }
      return isWhole ? 0 : isReading ? nil : 18  // PARTIAL_FILE
    }

    /// Whether libcurl has written the whole request body.
    private func hasSentAll(_ handle: CurlHandle) -> Bool {
      guard let upload else { return true }
      // Of trailers and of the last chunk libcurl does not tell whether they are written.
      guard upload.trailers == nil, upload.isAtEnd, upload.length != nil || !isAlone else { return false }
      return martlet_easy_sent_count(handle.easy) >= upload.offset
    }
  }
#endif
