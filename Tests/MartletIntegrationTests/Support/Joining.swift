import Martlet
import MartletTesting

extension Task where Failure == any Error {
  /// Its value; it is cancelled with whoever waits for that, so that a test which is given up ends.
  var joined: Success {
    get async throws {
      try await withTaskCancellationHandler {
        try await value
      } onCancel: {
        cancel()
      }
    }
  }
}

extension TestClock {
  /// Lets a time pass, again and again, until a task has ended.
  ///
  /// Once may be too early: somebody may be about to count from then on.
  ///
  /// - Returns: What the task ends with.
  func pass<Success: Sendable>(
    _ duration: Swift.Duration, until task: Task<Success, any Error>
  ) async -> Result<Success, any Error> {
    let passing = Task {
      while !Task.isCancelled {
        advance(by: duration)
        try await Task.sleep(for: .milliseconds(10))
      }
    }
    defer { passing.cancel() }
    do { return .success(try await task.joined) } catch { return .failure(error) }
  }
}
