import CTestSupport

/// Counted instructions, whose number does not depend on the load of the machine.
package enum Steps {
  /// Whether instructions are counted: `.ci/work` runs the tests in an emulator that counts them.
  package static let areCounted = martlet_steps() > 0

  /// Returns the number of instructions that work takes on this thread, while no other thread runs.
  package static func count(_ work: () -> Void) -> Int {
    let start = martlet_steps()
    work()
    return Int(clamping: martlet_steps() - start)
  }

  /// The processor time of the thread in nanoseconds.
  package static var threadTime: Int { Int(martlet_thread_time()) }
}
