import Foundation

/// How much a test does that fuzzes, kills, loads or measures: everything with `MARTLET_STRESS=1`, else a small version.
package enum Stress {
  package static let isOn = ProcessInfo.processInfo.environment["MARTLET_STRESS"] == "1"

  /// How often something is done.
  ///
  /// - Parameters:
  ///   - small: In every run; a quarter of it under the thread sanitizer.
  ///   - full: With `MARTLET_STRESS=1`.
  /// - Returns: One of the two.
  package static func count(_ small: Int, full: Int) -> Int { isOn ? full : isSanitized ? max(1, small / 4) : small }
}
