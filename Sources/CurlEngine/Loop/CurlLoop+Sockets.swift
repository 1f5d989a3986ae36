import CMartletShim

/// The sockets that libcurl wants to be watched.
extension CurlLoop {
  func watch(_ socket: CInt, _ what: CInt, for easy: UnsafeMutableRawPointer?) {
    guard socket >= 0 else { return }
    if what & 1 != 0, !addresses.isEmpty { connected(socket) }
    if what & 2 != 0, let easy { handles[easy]?.hasAwaitedRoom = true }
    // CURL_POLL_IN and CURL_POLL_OUT are bits; CURL_POLL_REMOVE is none of them.
    var known = watches[socket, default: CurlWatch()]
    if !known.isConnection {
      // The only other sockets are those by which libcurl's threads report addresses.
      if what & 3 != 0 { martlet_keep_from_children(socket) }
      if what & 3 == 0, let transfer = known.easy.flatMap({ handles[$0]?.transfer }) {
        lookups.closes(socket, of: transfer)
      }
    }
    // Also after a write: if the stream was reset before, the write does not reveal it to libcurl.
    if upgradeCount > 0 || !uploads.isEmpty, known.wanted & ~what & 3 != 0,
      let transfer = easy.flatMap({ handles[$0]?.transfer })
    {
      if transfer.job.hasBody { mayBeAnswered.append(transfer) }
      known.easy = easy
    }
    if upgradeCount > 0, known.isConnection, what & 3 != 0 { easy.flatMap { handles[$0] }?.socket = socket }
    known.wanted = what & 3
    if what & 2 == 0 { vainWrites.forget(socket) }
    if known.wanted != 0 { known.easy = easy }
    register(&known, socket)
    watches[socket] = known.isConnection || known.wanted != 0 ? known : nil
  }

  func register(_ watch: inout CurlWatch, _ socket: CInt) {
    if watch.wanted == 1 && watch.isConnection && answer.takes(socket, of: watch.easy) {
      if watch.registered != 0 { martlet_poll_forget(poll, socket) }
      watch.registered = 0
    }
    let isPaused = vainWrites.isPaused(socket) || upgradeCount > 0 && hasNothingToWrite(watch)
    let wanted = isPaused ? watch.wanted & ~2 | CurlWatch.pausedWrites : watch.wanted
    if wanted == watch.registered || socket == answer.socket { return }
    if watch.wanted == 0 {
      // The socket stays in the poll set while it is idle, which saves two system calls per request.
      if watch.isConnection && watch.registered == 1 { return }
      // Events of an idle socket must be noticed.
      let staysIn = watch.isConnection && martlet_poll_watch(poll, socket, 1, false)
      if !staysIn { martlet_poll_forget(poll, socket) }
      watch.registered = staysIn ? 1 : 0
    } else {
      let isWatched = martlet_poll_watch(poll, socket, wanted, watch.registered == 0)
      watch.registered = isWatched ? wanted : 0
    }
  }

  /// Removes a closed socket; the system removes it from the poll set.
  func closed(_ socket: CInt) {
    watches[socket] = nil
    origins[socket] = nil
    if !addresses.isEmpty { mustProceed(addresses.closed(socket)) }
    marks.closed(socket)
    vainWrites.forget(socket)
    resting.closed(socket)
    // The next socket may have its number.
    if socket == answer.socket { _ = answer.takeSocket() }
  }
}
