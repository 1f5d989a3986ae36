import CMartletShim

/// Transfers that wait for bandwidth, or for room in their sockets.
extension CurlLoop {
  /// Makes a transfer wait for its turn, for a time in microseconds.
  func throttle(_ transfer: CurlTransfer, for wait: Int64) {
    throttleTime = min(throttleTime ?? .max, martlet_microseconds() + wait)
    guard !transfer.isListed else { return }
    transfer.isListed = true
    throttled.append(transfer)
  }

  /// Resumes the transfers whose turn has come; they may wait again at once.
  func serveThrottled(from time: Int64) {
    let now = martlet_microseconds()
    guard time <= now else { return }
    // Bounded, so the sockets are served.
    for _ in 0..<64 {
      let waiting = exchange(&throttled, with: [])
      throttleTime = nil
      var hasServed = false
      for transfer in waiting {
        transfer.isListed = false
        let (goesOn, wait) = transfer.takeTurn(at: now)
        if let wait { throttle(transfer, for: wait) }
        guard goesOn else { continue }
        hasServed = true
        resume(with: transfer)
      }
      guard hasServed else { return }
    }
    if !throttled.isEmpty { throttleTime = now }
  }

  /// Removes a transfer from the limit; the returned bandwidth may suffice for others.
  func endThrottling(_ transfer: CurlTransfer) {
    transfer.leaveThrottle()
    throttled.removeAll { $0 === transfer }
    transfer.isListed = false
    throttleTime = throttled.isEmpty ? nil : 0
  }
}
