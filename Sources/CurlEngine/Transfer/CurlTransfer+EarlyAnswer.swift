import CMartletShim

struct RawChunks {
  /// Whether the body is incomplete without a well-formed last chunk, whatever libcurl says.
  ///
  /// If the response also has a length of 0, which RFC 9112 §6.3 ignores, libcurl treats the body as empty since 8.10.
  /// Before 7.88 it treats the size `0x1` as that of the last chunk.
  let needsEnd: Bool
  /// Whether the response may end before its request.
  let mayEndEarly: Bool
  var end = ChunkEnd()
  /// The number of bytes taken from a delivery that libcurl will repeat.
  var taken = 0
  private var trailer: [UInt8] = []

  init(needsEnd: Bool, mayEndEarly: Bool) { (self.needsEnd, self.mayEndEarly) = (needsEnd, mayEndEarly) }

  /// Whether the last chunk has arrived, if the end of the response depends on it.
  var decisiveEnd: Bool? { needsEnd || mayEndEarly ? end.hasEnded : nil }

  /// Appends octets of one line of the trailers; returns the line if they complete it.
  mutating func line(_ octets: UnsafeRawBufferPointer) -> [UInt8]? {
    trailer.append(contentsOf: octets)
    return octets.last == 0x0A ? exchange(&trailer, with: []) : nil
  }
}

/// Responses that end before their requests are sent.
extension CurlTransfer {
  func fed() -> Bool {
    guard !isEnded else { return false }
    if life.waits.contains(.up) { leaveUploadThrottle() }
    guard life.fed() else { return false }
    waitsHaveChanged()
    return true
  }

  /// Makes libcurl continue sending over HTTP/2 after a redirect.
  ///
  /// Otherwise libcurl would leave the stream open, and the transfer would never end.
  func readStatusLine(_ line: UnsafeBufferPointer<UInt8>, _ handle: CurlHandle) {
    guard upload != nil, CurlLibrary.leavesStreamsOpen, line.starts(with: "HTTP/2 3".utf8) else { return }
    _ = martlet_easy_set_number(handle.easy, CInt(martlet_opt_keep_sending_on_error), 1)
  }

  /// Whether the end of the request has to wait for the reader.
  ///
  /// If it closes the HTTP/2 stream, libcurl drops what it has buffered of the response.
  func holdsEnd() -> Bool {
    guard CurlLibrary.dropsUnread, body != nil, !life.isAlone, life.isPaused else { return false }
    wait(for: .end)
    return true
  }

  /// Makes libcurl request bytes for the upgraded connection, or learn that a refused request has none.
  func endAwaitingUpgrade() {
    // The connection no longer serves requests.
    if life.upgrade == .upgraded { slot.release() }
    mailbox.post(.fed(self))
  }

  func stopUpload(_ status: Int) {
    guard let upload else { return }
    // If the body has a length, libcurl requires all of it.
    guard life.stopsUpload(status, needsAll: CurlLibrary.leavesStreamsOpen && upload.length != nil) else { return }
    upload.stop()
    // Otherwise libcurl would wait for bytes before it ends.
    if life.holdsUpload || !life.isAlone { mailbox.post(.fed(self)) }
  }

  /// Watches the raw bytes of a chunked body for its end, for bytes after the end, and for malformed sizes.
  ///
  /// libcurl may not report the end, or a send error may keep it from doing so.
  func watchChunks(_ handle: CurlHandle, needsEnd: Bool) {
    let mayEndEarly = job.hasBody && !hasSentAll(handle)
    guard CurlLibrary.showsRawBody || needsEnd || mayEndEarly else { return }
    chunks = RawChunks(needsEnd: needsEnd, mayEndEarly: mayEndEarly)
    if CurlLibrary.showsRawBody {
      handle.log()
    } else {
      _ = martlet_easy_set_number(handle.easy, CInt(martlet_opt_transfer_decoding), 0)
    }
  }

  func receivedRaw(_ bytes: UnsafeRawBufferPointer) {
    guard chunks != nil else { return }
    chunks?.end.read(bytes)
    judgeChunks()
    // libcurl 8.21 may continue sending, and does not always stop watching the socket for more of the response.
    if job.hasBody, chunks?.decisiveEnd == true { handle?.loop.mayBeAnswered.append(self) }
  }

  /// Discards the chunks of a response that was only a step of an authentication.
  func forgetChunks() {
    guard chunks != nil else { return }
    chunks = nil
    guard !CurlLibrary.showsRawBody, let handle else { return }
    _ = martlet_easy_set_number(handle.easy, CInt(martlet_opt_transfer_decoding), 1)
  }

  func received(_ bytes: UnsafeRawBufferPointer) -> CurlBody.Reply {
    guard !CurlLibrary.showsRawBody, var raw = chunks else { return receivedBody(bytes) }
    // Bytes that were not taken are delivered again.
    var rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(raw.taken))
    while !rest.isEmpty {
      var end = raw.end
      let (count, kind) = end.readNext(rest)
      let part = UnsafeRawBufferPointer(rebasing: rest[..<count])
      if kind == .data {
        let reply = receivedBody(part)
        guard case .taken = reply else {
          raw.taken = bytes.count - rest.count
          chunks = raw
          return reply
        }
      } else if kind == .trailers, let handle, let line = raw.line(part) {
        guard line.withUnsafeBufferPointer({ receivedLine($0, handle) }) else { return .stop }
      }
      raw.end = end
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
    raw.taken = 0
    chunks = raw
    judgeChunks()
    if life.problem != nil { return .stop }
    if raw.end.hasEnded { handle?.loop.mayBeAnswered.append(self) }
    return .taken
  }

  /// Makes the loop check whether the response is complete by its length.
  func recordLength() { if job.hasBody, life.isWhole { handle?.loop.mayBeAnswered.append(self) } }

  func endOfResponse(_ handle: CurlHandle, isReading: Bool) -> CInt? {
    var sight = TransferStateMachine.ConnectionSnapshot(isReading: isReading, chunksHaveEnded: chunks?.decisiveEnd)
    if body != nil, !life.isAlone {
      sight.hasSentAll = hasSentAll(handle)
      sight.isAloneOnConnection = handle.isAloneOnConnection
    }
    return life.endOfResponse(sight)
  }

  /// Whether libcurl has delivered all that it had received of an HTTP/2 response before it sent.
  ///
  /// It fills its buffer up to ten times before that.
  var hasReadOn: Bool { body != nil && !life.isPaused && (life.isWhole || unreported < 16 * fullBuffer) }

  /// Whether the request was completely sent over HTTP/2, and the response has begun.
  var isSentOverHTTP2: Bool { body != nil && !life.isAlone && !life.isPaused && upload?.isAtEnd == true }

  func hasSentAll(_ handle: CurlHandle) -> Bool {
    guard let upload else { return true }
    // libcurl does not report whether trailers and the last chunk are written.
    guard upload.trailers == nil, upload.isAtEnd, job.isUpgrade || upload.length != nil || !life.isAlone else {
      return false
    }
    return martlet_easy_sent_count(handle.easy) >= upload.offset
  }

  /// Whether libcurl has nothing to write on the upgraded connection, until ``fed()``.
  func hasNothingToWrite(_ handle: CurlHandle) -> Bool {
    guard life.upgrade == .upgraded, !life.holdsUpload, let upload, upload.awaitsBytes() else { return false }
    return martlet_easy_sent_count(handle.easy) >= upload.offset
  }
}
