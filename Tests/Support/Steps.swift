import CTestSupport

/// Counted instructions, which are the same on a busy machine and a quiet one.
package enum Steps {
  /// Whether they are counted: `.ci/work` runs the tests in an emulator that does.
  package static let areCounted = martlet_steps() > 0

  /// How many some work takes on this thread, while no other one does anything.
  package static func count(_ work: () -> Void) -> Int {
    let start = martlet_steps()
    work()
    return Int(clamping: martlet_steps() - start)
  }

  /// The processor time of the thread in nanoseconds.
  package static var threadTime: Int { Int(martlet_thread_time()) }
}
