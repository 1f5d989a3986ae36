/// How many bytes may move by now, for a rate.
///
/// A value that is told the time, in microseconds of any clock that never goes back. Who moves bytes may go into debt,
/// which is waited for afterwards: so the first bytes never wait, however low the rate.
package struct TokenBucket {
  private let rate: Double
  private var balance: Double
  private var last: Int64?

  /// Makes one for a rate in bytes per second.
  package init(rate: Int) {
    self.rate = Double(max(1, rate))
    balance = self.rate / 20
  }

  /// Whether bytes may move.
  package var isOpen: Bool { balance > 0 }

  /// In how many microseconds bytes may move, if none do meanwhile.
  package var wait: Int64 { balance > 0 ? 0 : Int64(min(-balance / rate, 3600) * 1_000_000) + 1 }

  /// Goes on to a time.
  ///
  /// What nobody wants is lost, but for 50 ms of it. Who waits is owed all of it, since it is the machine that comes
  /// late, but no more than a quarter of a second.
  package mutating func advance(to now: Int64, isAwaited: Bool) {
    let last = last ?? now
    guard now >= last else { return }
    self.last = now
    let gain = Double(now - last) / 1_000_000 * rate
    balance = max(balance, min(balance + gain, isAwaited ? rate / 4 : rate / 20))
  }

  /// Bytes move; fewer than none are given back.
  package mutating func spend(_ bytes: Int) { balance -= Double(bytes) }
}
