/// Whether answers come so soon that waiting for the next one on the caller's own thread is cheaper than two changes of
/// threads.
///
/// Pure: what it learns from is the time that the last answers took, on connections that were open already. A wait in vain
/// costs the caller's thread its ``patience``, so it has to be paid for by ``price`` quick answers.
package struct AnswerPace: Sendable {
  package static let price = 16
  package static let maximumCredit = 4 * price

  /// How long is waited, in microseconds, and within what time an answer is quick.
  package let patience: Int64
  private var credit: Int

  package init(patience: Int64 = 250, credit: Int = 0) {
    self.patience = patience
    self.credit = credit
  }

  /// Whether the next answer is likely to be quick.
  package var isQuick: Bool { credit >= Self.price }

  /// Learns from an answer that took `time` microseconds, or from none in that time.
  package mutating func note(_ time: Int64) {
    credit = time <= patience ? min(credit + 1, Self.maximumCredit) : max(credit - Self.price, 0)
  }
}
