/// Starts a task and returns when the task suspends for the first time or has ended.
///
/// - Parameter work: The work, which runs on its own actor up to its first suspension.
/// - Returns: The task.
package func startUntilFirstWait<Output: Sendable>(
  _ work: @escaping @Sendable () async throws -> Output
) async -> Task<Output, any Error> {
  let stage = Stage()
  let hasBegun = Shared(false)
  let task = Task { try await stage.run(hasBegun, work) }
  await hasBegun.wait { $0 }
  await stage.giveWay()
  return task
}

/// Runs one job at a time; another job enters when the current one suspends.
private actor Stage {
  func run<Output: Sendable>(
    _ hasBegun: Shared<Bool>, _ work: @Sendable () async throws -> Output
  ) async throws -> Output {
    hasBegun.withLock { $0 = true }
    return try await work()
  }

  func giveWay() {}
}
