import CMartletShim

/// Request bodies that are sent slowly, or outlast their responses.
extension CurlLoop {
  /// Ends the transfers whose responses have ended although libcurl is still sending.
  ///
  /// libcurl would notice that later, or never. `asks` says whether to make libcurl receive. That can change what
  /// libcurl waits for, so more transfers have to be checked.
  func endAnswered(_ multi: UnsafeMutableRawPointer, asks: Bool = true) {
    var asked: [CurlHandle] = []
    while let transfer = mayBeAnswered.popLast() {
      guard let handle = transfer.handle else { continue }
      if let code = transfer.endOfResponse(handle, isReading: isReading(handle)) {
        let text = "the server ended the \(handle.isAloneOnConnection ? "stream" : "connection") during the upload"
        end(handle, TransferCompletion(code: code, text: code == 0 ? "" : text, isReused: handle.isReused), multi)
      } else if asks, transfer.isSentOverHTTP2 {
        // If the request ends after its response, no event would make libcurl look.
        asked.append(handle)
      }
    }
    guard !asked.isEmpty else { return }
    for handle in asked { receive(handle, multi) }
    takeEnded(multi, asks: false)
  }

  /// Whether libcurl reads from the connection of a handle, or has closed it.
  private func isReading(_ handle: CurlHandle) -> Bool {
    if let watch = upgradedWatch(of: handle) { return watch.wanted & 1 != 0 }
    // An HTTP/2 connection that waits to write ends without further action.
    let directions: CInt = handle.isAloneOnConnection ? 3 : 1
    var isOpen = false
    for watch in watches.values where watch.isConnection && watch.easy == handle.easy {
      if watch.wanted & directions != 0 { return true }
      isOpen = true
    }
    return !isOpen
  }

  /// Records a failed send; returns whether the socket contains bytes that may belong to the response.
  ///
  /// Linux keeps such bytes, even after a reset. Without any of the request written, they belong to no response. Over
  /// HTTP/2 they matter on a new connection, on which the server may have refused HTTP/2 itself.
  func sendFailed(_ socket: CInt, isReset: Bool) -> Bool {
    guard CurlLibrary.tellsBeforeSending, let handle = watches[socket]?.easy.flatMap({ handles[$0] }),
      let transfer = handle.transfer, transfer.life.sends.count > 0,
      handle.isMultiplexed ? !handle.isReused && transfer.body == nil : transfer.job.hasBody,
      !handle.isReused || CurlLibrary.countsRequests && !handle.isEncrypted && !handle.hasWrittenNothing,
      handle.localPort == martlet_socket_port(socket)
    else { return false }
    let count = martlet_unread_count(socket)
    guard count > 0 else { return false }
    // libcurl continues to send, so the socket is ignored until its transfer resumes.
    if transfer.life.isPaused { ignore(socket) }
    // If libcurl repeats sending and receives nothing in between, it does not receive at all.
    transfer.vainSends = count < transfer.unread ? 0 : transfer.vainSends + 1
    guard transfer.life.isPaused || transfer.vainSends < 8 else { return false }
    transfer.unread = count
    // The first failure shows how the connection ended; later failures look as if the server had closed it.
    if isReset { transfer.isReset = true }
    return true
  }

  /// Reports which request bodies have progressed, for the time limits.
  func checkUploads(from time: Int64) {
    let now = martlet_microseconds()
    guard time <= now else { return }
    uploads.look(at: now) { transfer, pace in
      guard let handle = transfer.handle, let socket = connection(of: handle) else { return }
      var queued: Int64 = 0
      let acknowledged = martlet_socket_acknowledged(socket, &queued)
      let written = martlet_easy_sent_count(handle.easy)
      let hasMoved = pace.hasMoved(
        written: written, acknowledged: acknowledged, queued: queued, isShared: handle.isHTTP2)
      if hasMoved { transfer.sink.didMove() }
    }
  }

  /// Pauses write events without effect, and resumes them after a read event; see ``VainWrites``.
  func recordWrites(_ event: martlet_event) {
    guard let watch = watches[event.socket], watch.wanted & 2 != 0 else { return }
    if event.events & 1 != 0 {
      guard vainWrites.resume(event.socket) else { return }
    } else {
      let isPaused = vainWrites.hadEvent(event.socket, at: martlet_microseconds()) {
        var queued: Int64 = 0
        let acknowledged = martlet_socket_acknowledged(event.socket, &queued)
        // Without TCP, only libcurl counts. The handle is looked up, because it may have been released.
        let handle = watch.easy.flatMap { handles[$0] }
        return acknowledged + queued + (handle.map { martlet_easy_sent_count($0.easy) } ?? 0)
      }
      guard isPaused else { return }
    }
    register(event.socket)
  }

  /// Whether an upgraded connection has nothing to write, so its write events are paused.
  ///
  /// libcurl would request bytes at each of them. To make it wait and continue costs three system calls per message.
  func hasNothingToWrite(_ watch: CurlWatch) -> Bool {
    guard watch.wanted == 3, let handle = watch.easy.flatMap({ handles[$0] }), let transfer = handle.transfer else {
      return false
    }
    return transfer.hasNothingToWrite(handle)
  }

  /// Makes libcurl write the first bytes after a pause of an upgraded connection; returns whether it did.
  func write(_ transfer: CurlTransfer, isResumed: Bool, _ multi: UnsafeMutableRawPointer) -> Bool {
    guard let handle = transfer.handle, let socket = handle.socket, upgradedWatch(of: handle)?.wanted == 3 else {
      return false
    }
    // libcurl writes immediately after its own pause.
    _ = martlet_multi_act(multi, isResumed ? -1 : socket, isResumed ? 0 : 2)
    register(socket)
    // Only the thread waits until the socket takes more bytes.
    if socket == answer.socket, !transfer.hasNothingToWrite(handle) { endAwaiting() }
    if upgradeCount == 1 { answer.wrote(transfer, at: martlet_microseconds()) }
    return true
  }

  /// Lets a caller wait for bytes of the only upgraded connection, if they are likely to arrive soon.
  func beginReceiving(_ transfer: CurlTransfer) -> InlineDriveResult {
    guard upgradeCount == 1, let handle = transfer.handle, let socket = handle.socket, !transfer.isEnded,
      !transfer.life.isPaused, transfer.hasNothingToWrite(handle), upgradedWatch(of: handle) != nil,
      answer.beginWaiting(on: socket, for: transfer)
    else { return .done }
    ignore(socket)
    return .answerIsNear(socket)
  }

  func register(_ socket: CInt) {
    guard var known = watches[socket] else { return }
    register(&known, socket)
    watches[socket] = known
  }

  func resumeWrites(from time: Int64) {
    let now = martlet_microseconds()
    guard time <= now else { return }
    for socket in vainWrites.resume(at: now) { register(socket) }
  }

  /// The socket from which libcurl reads for a transfer.
  func socket(of transfer: CurlTransfer) -> CInt? {
    let easy = transfer.handle?.easy
    return watches.first { $0.value.isConnection && $0.value.wanted & 1 != 0 && $0.value.easy == easy }?.key
  }

  /// The socket of a transfer, which other transfers may also use.
  func connection(of handle: CurlHandle) -> CInt? {
    watches.first { $0.value.isConnection && $0.value.easy == handle.easy }?.key ?? handle.ownSocket
  }

  /// The watch of an upgraded connection, found without a search among thousands; `nil` for other handles.
  private func upgradedWatch(of handle: CurlHandle) -> CurlWatch? {
    guard handle.transfer?.life.upgrade == .upgraded, let socket = handle.socket, let watch = watches[socket],
      watch.easy == handle.easy
    else { return nil }
    return watch
  }

  /// Closes the client's side of upgraded connections whose bytes are all sent.
  func halfClose() {
    halfClosing.removeAll { transfer in
      guard let handle = transfer.handle, let socket = handle.socket, watches[socket]?.easy == handle.easy else {
        return true
      }
      guard transfer.hasSentAll(handle) else { return false }
      let tls = martlet_easy_tls(handle.easy)
      // The end of the socket would truncate the TLS of an unknown library, or that of the connection to the proxy.
      guard tls != nil || !transfer.job.isSecure, transfer.route?.proxy?.kind != .https else { return true }
      martlet_half_close(socket, tls)
      return true
    }
  }
}
