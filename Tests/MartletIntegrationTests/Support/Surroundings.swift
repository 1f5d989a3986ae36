import Testing

/// What runs as long as a suite does, and is started once for all of its tests.
struct Surroundings<Facts: Sendable>: SuiteTrait, TestScoping {
  /// Where the tests find what they have to know of it.
  let facts: TaskLocal<Facts?>
  /// Starts it; it ends with the last reference to what keeps it.
  let start: @Sendable () async throws -> (facts: Facts, keeper: Any)

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    let (known, keeper) = try await start()
    try await facts.withValue(known) { try await function() }
    withExtendedLifetime(keeper) {}
  }
}
