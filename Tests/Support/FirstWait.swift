/// Starts a task and goes on when it waits for the first time, or has ended.
///
/// - Parameter work: Runs on an actor of its own, up to its first suspension.
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

/// Runs one thing at a time: whoever else comes gets in when that waits.
private actor Stage {
  func run<Output: Sendable>(
    _ hasBegun: Shared<Bool>, _ work: @Sendable () async throws -> Output
  ) async throws -> Output {
    hasBegun.withLock { $0 = true }
    return try await work()
  }

  func giveWay() {}
}
