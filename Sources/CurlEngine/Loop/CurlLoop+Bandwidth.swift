import CMartletShim

/// Transfers that wait for their part of a limited bandwidth, or for room in their sockets.
extension CurlLoop {
  /// Has a transfer wait for its turn, in microseconds from now.
  func throttle(_ transfer: CurlTransfer, for wait: Int64) {
    throttleTime = min(throttleTime ?? .max, martlet_microseconds() + wait)
    guard !transfer.isListed else { return }
    transfer.isListed = true
    throttled.append(transfer)
  }

  /// Goes on with the transfers whose turn has come; they may come back for another one at once.
  func serveThrottled(from time: Int64) {
    let now = martlet_microseconds()
    guard time <= now else { return }
    // Bounded, for the sake of the sockets.
    for _ in 0..<64 {
      let waiting = throttled
      throttled = []
      throttleTime = nil
      var hasServed = false
      for transfer in waiting {
        transfer.isListed = false
        let (goesOn, wait) = transfer.takeTurn(at: now)
        if let wait { throttle(transfer, for: wait) }
        guard goesOn else { continue }
        hasServed = true
        goOn(with: transfer)
      }
      guard hasServed else { return }
    }
    if !throttled.isEmpty { throttleTime = now }
  }

  /// Takes a transfer off the limit; what it gives back may be enough for others.
  func endThrottling(_ transfer: CurlTransfer) {
    transfer.leaveThrottle()
    throttled.removeAll { $0 === transfer }
    transfer.isListed = false
    throttleTime = throttled.isEmpty ? nil : 0
  }
}
