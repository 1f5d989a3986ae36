import Martlet
import MartletTesting

extension Task where Failure == any Error {
  /// The task's value; cancelling the wait cancels the task, so an abandoned test ends.
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
  /// Advances the clock repeatedly until a task has ended.
  ///
  /// A single advance may be too early, because a timer may be about to start.
  ///
  /// - Returns: The result of the task.
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
