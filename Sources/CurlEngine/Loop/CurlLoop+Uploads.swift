import CMartletShim

/// Request bodies that are sent slowly, or outlast their responses.
extension CurlLoop {
  /// Ends the transfers whose responses have ended though libcurl still sends, or has not noticed: it would say so
  /// later, or never.
  ///
  /// `asks` says whether libcurl may be asked: that can change what it waits for, so that there is more to look at.
  func endAnswered(_ multi: UnsafeMutableRawPointer, asks: Bool = true) {
    var asked: [CurlHandle] = []
    while let transfer = mayBeAnswered.popLast() {
      guard let handle = transfer.handle else { continue }
      if let code = transfer.endOfResponse(handle, isReading: isReading(handle)) {
        let text = "the server ended the \(handle.isAloneOnConnection ? "stream" : "connection") during the upload"
        end(handle, CurlTransfer.Result(code: code, text: code == 0 ? "" : text, isReused: handle.isReused), multi)
      } else if asks, transfer.isSentOverHTTP2 {
        // Where the request ends after its response, nothing comes any more that would have libcurl look.
        asked.append(handle)
      }
    }
    guard !asked.isEmpty else { return }
    for handle in asked { receive(handle, multi) }
    takeEnded(multi, asks: false)
  }

  /// Whether libcurl wants to read from the connection of a handle, or has closed it.
  private func isReading(_ handle: CurlHandle) -> Bool {
    // One of HTTP/2 that wants to write ends by itself.
    let directions: CInt = handle.isAloneOnConnection ? 3 : 1
    var isOpen = false
    for watch in watches.values where watch.isConnection && watch.easy == handle.easy {
      if watch.wanted & directions != 0 { return true }
      isOpen = true
    }
    return !isOpen
  }

  /// Reports which request bodies have moved, for the limits of time.
  func lookAtUploads(from time: Int64) {
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

  /// The socket of which libcurl wants to read for a transfer.
  func socket(of transfer: CurlTransfer) -> CInt? {
    let easy = transfer.handle?.easy
    return watches.first { $0.value.isConnection && $0.value.wanted & 1 != 0 && $0.value.easy == easy }?.key
  }

  /// The socket of a transfer, whoever else uses it.
  func connection(of handle: CurlHandle) -> CInt? {
    let own = watches.first { $0.value.isConnection && $0.value.easy == handle.easy }
    if let own { return own.key }
    let port = martlet_easy_number(handle.easy, CInt(martlet_info_local_port))
    guard port > 0 else { return nil }
    return watches.first { $0.value.isConnection && martlet_socket_port($0.key) == port }?.key
  }
}
