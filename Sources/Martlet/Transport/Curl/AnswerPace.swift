import Synchronization

/// Whether answers come so soon that waiting for the next one on the caller's own thread is cheaper than two changes of
/// threads.
///
/// Pure: what it learns from is the time that the last answers took, on connections that were open already. A wait in vain
/// costs the caller's thread its ``patience``, so it has to be paid for by ``price`` quick answers.
struct AnswerPace: Sendable {
  static let price = 16
  static let maximumCredit = 4 * price

  /// How long is waited, in microseconds, and within what time an answer is quick.
  let patience: Int64
  private var credit: Int

  init(patience: Int64 = 250, credit: Int = 0) {
    self.patience = patience
    self.credit = credit
  }

  /// Whether the next answer is likely to be quick.
  var isQuick: Bool { credit >= Self.price }

  /// Learns from an answer that took `time` microseconds, or from none in that time.
  mutating func note(_ time: Int64) {
    credit = time <= patience ? min(credit + 1, Self.maximumCredit) : max(credit - Self.price, 0)
  }
}

/// How many answers were there before their callers had to suspend.
///
/// A task that never has to suspend never lets another one have its thread: now and then it does so by itself.
final class AwaitedCount: Sendable {
  private static let burst = 16

  private let count = Atomic(0)

  var value: Int { count.load(ordering: .relaxed) }

  /// Counts an answer, and says whether it is time to let others go on.
  func hasToYield() -> Bool { count.wrappingAdd(1, ordering: .relaxed).newValue % Self.burst == 0 }
}
