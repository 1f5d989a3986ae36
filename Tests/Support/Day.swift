package import Foundation

/// A date that a test advances, starting in 2023.
package final class Day: Sendable {
  private let seconds = Shared(1_700_000_000.0)

  package init() {}

  package var now: Date { Date(timeIntervalSince1970: seconds.withLock { $0 }) }

  package func pass(_ time: TimeInterval) { seconds.withLock { $0 += time } }
}
