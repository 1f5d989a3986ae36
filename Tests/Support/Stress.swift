import Foundation

/// How much the fuzzing, killing, load and performance tests do: everything with `MARTLET_STRESS=1`, otherwise a small
/// version.
package enum Stress {
  package static let isOn = ProcessInfo.processInfo.environment["MARTLET_STRESS"] == "1"

  /// Returns the number of repetitions.
  ///
  /// - Parameters:
  ///   - small: The number in normal runs; a quarter of it under a sanitizer.
  ///   - full: The number with `MARTLET_STRESS=1`.
  /// - Returns: One of the two numbers.
  package static func count(_ small: Int, full: Int) -> Int { isOn ? full : isSanitized ? max(1, small / 4) : small }
}
