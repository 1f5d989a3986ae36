import MartletBase

/// Undelivered progress of a call.
///
/// One thread at a time delivers it, so all watchers receive updates in order.
struct ProgressDelivery {
  /// Boxed, because most calls have no progress to deliver.
  private var untold: Boxed<TransferProgress>?
  private var isTelling = false
  private var waiter: Suspension<Void>?

  /// Replaces the undelivered progress.
  ///
  /// Returns `true` if the caller must deliver it, because no thread is delivering.
  mutating func add(_ progress: TransferProgress) -> Bool {
    untold = Boxed(progress)
    defer { isTelling = true }
    return !isTelling
  }

  /// The next progress to deliver or, without any, the waiter for the end of delivery.
  mutating func next() -> (TransferProgress?, Suspension<Void>?) {
    defer { untold = nil }
    if let untold { return (untold.value, nil) }
    isTelling = false
    return (nil, waiter.take())
  }

  /// Stores a continuation to resume once all progress is delivered.
  ///
  /// Returns `false` if none is being delivered.
  mutating func wait(_ suspension: Suspension<Void>) -> Bool {
    guard isTelling else { return false }
    waiter = suspension
    return true
  }
}
