import MartletTesting
import Testing

/// Keeps tests that need a core for themselves from running side by side.
struct OneAtATime: TestTrait, SuiteTrait, TestScoping {
  var isRecursive: Bool { true }

  func scopeProvider(for test: Test, testCase: Test.Case?) -> OneAtATime? {
    test.isSuite || testCase != nil ? nil : self
  }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await Turnstile.shared.pass { try await function() }
  }
}

extension Trait where Self == OneAtATime {
  /// This test needs a core for itself: it computes for long, or it measures time.
  static var oneAtATime: OneAtATime { OneAtATime() }
}
