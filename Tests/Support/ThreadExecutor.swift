import Foundation
package import Testing

/// Runs tasks on its own threads, more than there are cores, for code that blocks.
package final class ThreadExecutor: TaskExecutor, @unchecked Sendable {
  package static let shared = ThreadExecutor()

  private static let maximumThreads = 128

  private let condition = NSCondition()
  // The condition's lock guards these properties.
  private var jobs: [UnownedJob] = []
  private var idleThreads = 0
  private var threads = 0

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    condition.lock()
    defer { condition.unlock() }
    jobs.append(job)
    if jobs.count <= idleThreads || threads == Self.maximumThreads {
      condition.signal()
    } else {
      threads += 1
      Thread { self.run() }.start()
    }
  }

  private func run() {
    while true {
      condition.lock()
      idleThreads += 1
      while jobs.isEmpty { condition.wait() }
      idleThreads -= 1
      let job = jobs.removeFirst()
      condition.unlock()
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}

/// Runs tests on a ``ThreadExecutor``.
///
/// While a child process runs, Swift Testing reads the child's pipes with blocking calls on the test's thread. On a
/// machine with two cores, a single test that observes a child's standard error blocks all others.
package struct OwnThreads: TestTrait, SuiteTrait, TestScoping {
  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(ThreadExecutor.shared) { try await function() }
  }
}

extension Trait where Self == OwnThreads {
  /// For tests that block while their child processes run (`processExitsWith:`).
  package static var ownThreads: OwnThreads { OwnThreads() }
}
