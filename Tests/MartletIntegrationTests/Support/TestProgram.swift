import Foundation
import TestSupport
import Testing

/// A program of the system that a test uses.
///
/// Only a test with `.needs(…)` may start it; the test is skipped, with the program's name, if the program is missing.
struct TestProgram: Sendable {
  static let openssl = TestProgram("openssl")
  static let nginx = TestProgram("nginx")
  static let curl = TestProgram("curl")
  static let script = TestProgram("script")
  static let shell = TestProgram("sh")
  static let list = TestProgram("ls")
  static let unshare = TestProgram("unshare")

  /// The programs that the running test has declared.
  @TaskLocal fileprivate static var named: Set<String> = []

  /// Whether every program counts as missing, as with `MARTLET_BARE=1`.
  private static let isBare = ProcessInfo.processInfo.environment["MARTLET_BARE"] == "1"
  fileprivate static let mayBeMissing = isBare || ProcessInfo.processInfo.environment["CI"] == nil

  let name: String
  /// The location of the program, if it is installed.
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

  /// Starts the program.
  ///
  /// - Throws: A test failure if the test has not declared the program, or the program is not installed.
  func start(
    _ arguments: [String], environment: [String: String] = [:], input: FileHandle = .nullDevice
  ) throws -> ToolProcess {
    try ToolProcess(try path(), arguments, environment: environment, input: input)
  }

  /// Returns the location of the program, which the test must have declared.
  func path() throws -> URL {
    try #require(Self.named.contains(name), "a test that starts \(name) says .needs(…)")
    return try #require(url, "\(name) is not installed, which CI has to do")
  }

  /// Runs the program to its end, which must be successful.
  func run(_ arguments: [String], environment: [String: String] = [:]) async throws {
    let result = try await start(arguments, environment: environment).end()
    try #require(result.status == 0, "\(name) \(arguments): \(result.errors)")
  }
}

/// Skips a test that lacks something beyond a toolchain and 127.0.0.1, and provides programs.
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
  /// Skips the test if one of the programs is missing, except in CI.
  ///
  /// - Parameters:
  ///   - programs: The programs that the test starts.
  ///   - problem: Another reason to skip the test, if any.
  /// - Returns: The trait.
  static func needs(_ programs: TestProgram..., problem: String? = nil) -> Needs {
    let missing = programs.filter { $0.url == nil }.map(\.name).joined(separator: " and ")
    let problem = missing.isEmpty ? problem : "\(missing) is not installed"
    return Needs(
      programs: programs, condition: .enabled(if: problem == nil || !TestProgram.mayBeMissing, "\(problem ?? "")"))
  }

  /// Skips the test if the machine lacks a feature, even in CI.
  static func needs(_ fact: HostFact) -> Needs {
    Needs(programs: [], condition: .enabled("\(fact.missing)") { fact.holds })
  }
}
