import CMartletShim

/// Requests that wait inside libcurl for another one to tell whether they can share its connection.
extension CurlLoop {
  /// Has those for an origin look once more: it has a new connection, or has none.
  ///
  /// libcurl has but one list of them, and on each event only the one looks that has waited longest. Behind those for a host
  /// that does not answer the others would wait for its limit.
  func joinWaiting(_ multi: UnsafeMutableRawPointer) {
    let origins = joinable
    joinable = []
    // What looks for an address, or connects, has a socket.
    let busy = Set(watches.values.compactMap(\.easy))
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
