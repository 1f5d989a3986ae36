/// Decides whether to wait inline for the next response.
///
/// If responses arrive quickly, waiting on the caller's own thread is cheaper than two thread switches. The decision
/// depends only on the time of the last responses, on connections that were already open. A wait in vain costs the
/// caller's thread its ``patience``, so ``price`` quick responses have to pay for it.
package struct InlineWaitHeuristic: Sendable {
  package static let price = 16
  package static let maximumCredit = 4 * price

  /// The length of a wait, in microseconds; a response within this time is quick.
  package let patience: Int64
  private var credit: Int

  package init(patience: Int64 = 250, credit: Int = 0) {
    self.patience = patience
    self.credit = credit
  }

  package var isQuick: Bool { credit >= Self.price }

  /// Records the time of a response in microseconds, or of a wait without one.
  package mutating func record(_ time: Int64) {
    credit = time <= patience ? min(credit + 1, Self.maximumCredit) : max(credit - Self.price, 0)
  }
}
