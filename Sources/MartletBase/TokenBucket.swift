/// A token bucket: the number of bytes that may be transferred at a rate.
///
/// A value without a clock: callers pass the time, in microseconds of any monotonic clock. Transferring bytes may
/// create debt, and later bytes wait for it; so the first bytes never wait, however low the rate is.
package struct TokenBucket {
  private let rate: Double
  private var balance: Double
  private var last: Int64?

  /// Creates a bucket for a rate in bytes per second.
  package init(rate: Int) {
    self.rate = Double(max(1, rate))
    balance = self.rate / 20
  }

  package var isOpen: Bool { balance > 0 }

  /// The microseconds until bytes may be transferred, unless others are transferred before.
  package var wait: Int64 { balance > 0 ? 0 : Int64(min(-balance / rate, 3600) * 1_000_000) + 1 }

  /// Advances to a time.
  ///
  /// Unused bandwidth is lost, except for 50 ms. While a transfer waits, up to a quarter of a second is kept, since
  /// then the machine causes the delay.
  package mutating func advance(to now: Int64, isAwaited: Bool) {
    let last = last ?? now
    guard now >= last else { return }
    self.last = now
    let gain = Double(now - last) / 1_000_000 * rate
    balance = max(balance, min(balance + gain, isAwaited ? rate / 4 : rate / 20))
  }

  /// Spends bytes; a negative number returns them.
  package mutating func spend(_ bytes: Int) { balance -= Double(bytes) }
}
