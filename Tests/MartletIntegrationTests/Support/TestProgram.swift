import Foundation
import TestSupport
import Testing

/// A program of the system that a test talks to.
///
/// Only a test that says `.needs(…)` may start it: it is then skipped, by name, where the program is missing.
struct TestProgram: Sendable {
  static let openssl = TestProgram("openssl")
  static let nginx = TestProgram("nginx")
  static let curl = TestProgram("curl")
  static let script = TestProgram("script")
  static let shell = TestProgram("sh")
  static let list = TestProgram("ls")
  static let unshare = TestProgram("unshare")

  /// The programs that the running test has named.
  @TaskLocal fileprivate static var named: Set<String> = []

  /// Whether every program counts as not installed, as `MARTLET_BARE=1` has it.
  private static let isBare = ProcessInfo.processInfo.environment["MARTLET_BARE"] == "1"
  fileprivate static let mayBeMissing = isBare || ProcessInfo.processInfo.environment["CI"] == nil

  let name: String
  /// Where it is installed, if it is.
  let url: URL?

  init(_ name: String) {
    self.name = name
    let folders = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/opt/homebrew/bin", "/bin"]
    url =
      Self.isBare
      ? nil
      : folders.map { URL(fileURLWithPath: "\($0)/\(name)") }
        .first { FileManager.default.isExecutableFile(atPath: $0.path) }
  }

  /// Starts it.
  ///
  /// - Throws: What fails in the test, if the test does not say that it needs the program, or it is not installed.
  func start(
    _ arguments: [String], environment: [String: String] = [:], input: FileHandle = .nullDevice
  ) throws -> ToolProcess {
    try ToolProcess(try path(), arguments, environment: environment, input: input)
  }

  /// Where it is, for a test that has named it.
  func path() throws -> URL {
    try #require(Self.named.contains(name), "a test that starts \(name) says .needs(…)")
    return try #require(url, "\(name) is not installed, which CI has to do")
  }

  /// Runs it to its end, which has to be a good one.
  func run(_ arguments: [String], environment: [String: String] = [:]) async throws {
    let result = try await start(arguments, environment: environment).end()
    try #require(result.status == 0, "\(name) \(arguments): \(result.errors)")
  }
}

/// Skips a test where something is missing that it needs beyond a toolchain and 127.0.0.1, and hands programs out.
struct Needs: TestTrait, SuiteTrait, TestScoping {
  fileprivate let programs: [TestProgram]
  fileprivate let condition: ConditionTrait

  var isRecursive: Bool { true }
  var comments: [Comment] { condition.comments }

  func prepare(for test: Test) async throws { try await condition.prepare(for: test) }

  func scopeProvider(for test: Test, testCase: Test.Case?) -> Needs? { test.isSuite || testCase != nil ? self : nil }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await TestProgram.$named.withValue(TestProgram.named.union(programs.map(\.name))) { try await function() }
  }
}

extension Trait where Self == Needs {
  /// The test is skipped where one of the programs is missing, but not in CI.
  ///
  /// - Parameters:
  ///   - programs: Those that it starts.
  ///   - problem: What else is missing, if anything is.
  /// - Returns: The trait.
  static func needs(_ programs: TestProgram..., problem: String? = nil) -> Needs {
    let missing = programs.filter { $0.url == nil }.map(\.name).joined(separator: " and ")
    let problem = missing.isEmpty ? problem : "\(missing) is not installed"
    return Needs(
      programs: programs, condition: .enabled(if: problem == nil || !TestProgram.mayBeMissing, "\(problem ?? "")"))
  }

  /// The test is skipped where the machine does not have something, in CI too.
  static func needs(_ fact: HostFact) -> Needs {
    Needs(programs: [], condition: .enabled("\(fact.missing)") { fact.holds })
  }
}
