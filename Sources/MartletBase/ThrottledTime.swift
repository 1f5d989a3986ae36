import Synchronization

/// The time that a call's transfers have waited for a bandwidth limit.
///
/// A separate object, so its users need not keep the call.
package final class ThrottledTime: Sendable {
  private let microseconds = Atomic<Int64>(0)

  package init() {}

  package var total: Duration { .microseconds(microseconds.load(ordering: .relaxed)) }

  package func add(microseconds more: Int64) { microseconds.add(max(0, more), ordering: .relaxed) }
}
