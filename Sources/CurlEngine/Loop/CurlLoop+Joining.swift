import CMartletShim

/// Requests that wait inside libcurl for a connection to share.
extension CurlLoop {
  /// Makes waiting requests for an origin look again, because the origin has a new connection, or none.
  ///
  /// libcurl has only one list of waiting requests, and on each event only the oldest one looks again. Behind requests
  /// for a host that does not respond, others would wait for that host's time limit.
  func joinWaiting(_ multi: UnsafeMutableRawPointer) {
    let origins = exchange(&joinable, with: [])
    // A request that looks up an address or connects has a socket.
    let busy = Set(watches.values.filter { $0.wanted != 0 }.compactMap(\.easy))
    for (easy, handle) in handles where handle.waitsForSharing && !busy.contains(easy) {
      guard let transfer = handle.transfer, transfer.life.sends.count == 0, origins.contains(transfer.job.origin) else {
        continue
      }
      _ = martlet_multi_remove(multi, easy)
      let code = martlet_multi_add(multi, easy)
      if code != 0 { end(handle, handle.result(2), multi) }  // FAILED_INIT
    }
  }
}
