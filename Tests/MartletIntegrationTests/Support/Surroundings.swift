import Testing

/// An environment that is started once for all tests of a suite.
struct Surroundings<Facts: Sendable>: SuiteTrait, TestScoping {
  /// The task-local value through which tests find the environment's facts.
  let facts: TaskLocal<Facts?>
  /// Starts the environment, which ends when its keeper is released.
  let start: @Sendable () async throws -> (facts: Facts, keeper: Any)

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    let (known, keeper) = try await start()
    try await facts.withValue(known) { try await function() }
    withExtendedLifetime(keeper) {}
  }
}
