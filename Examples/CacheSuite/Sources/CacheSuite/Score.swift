/// The results of a run, counted as on the suite's site.
struct Score: Sendable {
  /// The verdict that the suite's site shows for a test.
  enum Verdict: String, Sendable {
    case passed
    case failed
    /// A test that this test depends on has failed.
    case dependencyFailed = "dependency failed"
    /// The setup of the test failed.
    case setupFailed = "setup failed"
    /// A request was received twice.
    case retried
    /// A request took too long.
    case timedOut = "timed out"
    case untested
  }

  /// The number of passed tests and of all tests.
  struct Count: Sendable, CustomStringConvertible {
    var passed = 0
    var total = 0

    var description: String { "\(passed)/\(total)" }
  }

  let suites: [Suite]
  let outcomes: [String: Outcome]
  private let tests: [String: Test]
  private let honorsDependencies: Bool

  /// - Parameters:
  ///   - suites: The tests that count.
  ///   - outcomes: The result of each test.
  ///   - honorsDependencies: Whether a test fails if one of its dependencies fails.
  init(_ suites: [Suite], _ outcomes: [String: Outcome], honorsDependencies: Bool = true) {
    self.suites = suites
    self.outcomes = outcomes
    self.honorsDependencies = honorsDependencies
    tests = Dictionary(suites.flatMap(\.tests).map { ($0.id, $0) }) { first, _ in first }
  }

  func verdict(_ test: Test) -> Verdict {
    guard let outcome = outcomes[test.id] else { return .untested }
    if honorsDependencies {
      for id in test.dependencies {
        guard let other = tests[id], verdict(other) == .passed else { return .dependencyFailed }
      }
    }
    switch outcome {
    case .passed: return .passed
    case .failed(let failure) where failure.name == "Setup":
      return failure.message == "retry" ? .retried : .setupFailed
    case .failed(let failure) where failure.name == "AbortError": return .timedOut
    case .failed: return .failed
    }
  }

  /// Returns the count for a kind of test, in one suite or in all.
  func count(_ kind: Test.Kind, in suite: Suite? = nil) -> Count {
    var count = Count()
    for test in suite?.tests ?? suites.flatMap(\.tests) where test.kind == kind {
      count.total += 1
      if verdict(test) == .passed { count.passed += 1 }
    }
    return count
  }

  /// The same results without dependencies.
  var withoutDependencies: Score { Score(suites, outcomes, honorsDependencies: false) }
}
