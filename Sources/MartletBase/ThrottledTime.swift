import Synchronization

/// How long the transfers of one call have waited for a limit of bandwidth.
///
/// An object of its own, so that who tells of it need not keep the call.
package final class ThrottledTime: Sendable {
  private let microseconds = Atomic<Int64>(0)

  package init() {}

  package var total: Duration { .microseconds(microseconds.load(ordering: .relaxed)) }

  package func add(microseconds more: Int64) { microseconds.add(max(0, more), ordering: .relaxed) }
}
