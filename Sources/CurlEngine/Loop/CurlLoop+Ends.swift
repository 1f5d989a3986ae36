import MartletBase
import CMartletShim

extension CurlLoop {
  /// Finds the transfers that libcurl has ended, and broken HTTP/2 connections.
  ///
  /// libcurl reports a broken connection to one stream at a time, when that stream next receives. So the other streams
  /// are made to receive.
  func findEnded(_ multi: UnsafeMutableRawPointer) {
    recordEnded(multi)
    while let handle = multiplexed.nextToAsk({ $0.transfer?.life.isPaused == false }) {
      receive(handle, multi)
      recordEnded(multi)
    }
  }

  func opened(_ socket: CInt, by handle: CurlHandle) {
    guard socket >= 0 else { return }
    watches[socket] = CurlWatch(isConnection: true)
    origins[socket] = handle.transfer?.job.origin
  }

  /// Makes libcurl receive, by a pause that ends at once.
  func receive(_ handle: CurlHandle, _ multi: UnsafeMutableRawPointer) {
    if let transfer = handle.transfer { pause(transfer, holdsUpload: !transfer.life.holdsUpload, multi) }
    if let transfer = handle.transfer { pause(transfer, holdsUpload: transfer.life.holdsUpload, multi) }
    _ = martlet_multi_act(multi, -1, 0)
  }

  /// Resets a cancelled transfer's HTTP/2 stream, if libcurl would delay RST_STREAM.
  ///
  /// Pausing and resuming the transfer makes libcurl receive and send.
  func resetStream(of handle: CurlHandle, _ multi: UnsafeMutableRawPointer) {
    guard CurlLibrary.holdsResets, handle.isMultiplexed else { return }
    handle.isLeaving = true
    let previous = martlet_streams_leave(handle.easy)
    _ = martlet_easy_pause(handle.easy, false, true)
    _ = martlet_easy_pause(handle.easy, false, false)
    _ = martlet_multi_act(multi, -1, 0)
    martlet_streams_leave(previous)
  }

  func holdsMore(_ transfer: CurlTransfer) { if mayHoldMore.last !== transfer { mayHoldMore.append(transfer) } }

  /// Makes libcurl continue reading where no event would.
  ///
  /// When a stream's buffer is full, libcurl 7.88 stops in the middle of the bytes that it has read. It continues only
  /// when more bytes arrive on the socket.
  func readOn(_ multi: UnsafeMutableRawPointer) {
    let transfers = mayHoldMore
    mayHoldMore = []
    for transfer in transfers {
      guard let handle = transfer.handle, let socket = connection(of: handle) else { continue }
      guard let watch = watches[socket], watch.wanted & 1 != 0 else { continue }
      act(on: martlet_event(socket: socket, events: 1), multi)
    }
  }

  func recordEnded(_ multi: UnsafeMutableRawPointer) {
    for transfer in unwanted { transfer.handle.map { ended.append(($0, 42)) } }  // ABORTED_BY_CALLBACK
    unwanted.removeAll()
    var code: CInt = 0
    while let easy = martlet_multi_next_done(multi, &code) {
      guard let handle = handles[easy] else {
        endScout(easy, multi)
        continue
      }
      if code != 0 { discardConnection(of: handle, after: code) }
      let isDoubtful = code != 0 || handle.transfer?.life.bodyEnd == .stream && handle.incoming.code != 0
      handle.leaveConnection(isDoubtful: isDoubtful)
      ended.append((handle, code))
    }
  }

  /// Closes a kept HTTP/2 connection that cannot serve another transfer.
  func closeUnusable(_ handle: CurlHandle) {
    guard let name = handle.connectionName, handle.hasBrokenFrames else { return }
    broken[name] = ()
    guard !multiplexed.isUsed(name) else { return }
    // libcurl keeps the connection of a cancelled transfer only when the transfer is removed.
    if let socket = handle.keptSocket { abandon(socket) } else { handle.closeConnection() }
  }

  func uses(_ transfer: CurlTransfer, _ connection: IdleConnections.Connection, isNew: Bool) {
    // These are counts of an earlier connection with the same addresses.
    let name = connection.name
    if isNew, goaways.count > 0 || broken.count > 0 { (goaways[name], broken[name]) = (nil, nil) }
    connection.use(by: transfer)
  }

  /// Tells libcurl which directions are paused, and resumes the others.
  func resume(with transfer: CurlTransfer) {
    guard let multi else { return }
    pause(transfer, holdsUpload: transfer.life.holdsUpload, multi)
    if transfer.life.isUploadStopped, !transfer.life.isAlone, let handle = transfer.handle {
      // A response that ended earlier ends with the request; libcurl notices that when it receives.
      _ = martlet_multi_act(multi, -1, 0)
      receive(handle, multi)
    }
    if transfer.job.hasBody, transfer.body != nil { mayBeAnswered.append(transfer) }
  }

  /// Whether a connection belongs to a paused transfer; with libcurl 8.5.0 there is no HTTP/2, so no other can use it.
  func isPaused(_ watch: CurlWatch) -> Bool {
    watch.easy.flatMap { handles[$0]?.transfer }?.life.isPaused == true
  }

  /// Lets libcurl 8.5.0 send without reading for its paused transfer.
  ///
  /// The bytes of that transfer must stay in the socket.
  func actUnread(_ event: martlet_event, _ watch: CurlWatch, _ multi: UnsafeMutableRawPointer) {
    guard watch.wanted & 2 != 0 else { return ignore(event.socket) }
    let isWatched = martlet_poll_watch(poll, event.socket, 2, watch.registered == 0)
    watches[event.socket]?.registered = isWatched ? 2 : 0
    if event.events & 2 != 0 { _ = martlet_multi_act(multi, event.socket, 2) }
  }

  /// Watches sockets again that were ignored while their transfer was paused.
  private func listen(for handle: CurlHandle) {
    for (socket, known) in watches where known.easy == handle.easy && known.wanted != known.registered {
      watch(socket, known.wanted, for: known.easy)
    }
  }

  private func pause(_ transfer: CurlTransfer, holdsUpload: Bool, _ multi: UnsafeMutableRawPointer) {
    guard let handle = transfer.handle else { return }
    // An error in bytes that libcurl has buffered in the meantime is reported only here. BAD_FUNCTION_ARGUMENT means
    // that the transfer has no connection.
    let code = martlet_easy_pause(handle.easy, transfer.life.isPaused, holdsUpload)
    if CurlLibrary.readsWhilePaused, !transfer.life.isPaused { listen(for: handle) }
    guard code != 0, code != 43, transfer.handle === handle else { return }
    end(handle, handle.result(code), multi)
  }
}

/// The server's side of an HTTP/2 stream, as nghttp2 reports it.
struct IncomingStream {
  /// The number of data bytes in the frames that nghttp2 has accepted.
  var byteCount: Int64 = 0
  /// Whether one of these frames had END_STREAM.
  var hasEnd = false
  /// The error code with which the stream was closed (RFC 9113 §7); `nil` before, or if it is unknown.
  var code: UInt32?
}

extension CurlHandle {
  func recordStream(_ event: martlet_stream_event, _ value: UInt32) {
    switch event {
    case martlet_stream_has_data: incoming.byteCount += Int64(value)
    case martlet_stream_ends: incoming.hasEnd = true
    case martlet_stream_got_http1: transfer?.life.sends.recordHTTP1()
    default: incoming.code = value
    }
  }

  /// Whether a stream has ended without the server's END_STREAM, or libcurl has not delivered all received data.
  var isIncomplete: Bool { !incoming.hasEnd || transfer.map { $0.life.received < incoming.byteCount } ?? false }
}
