import Foundation
import Testing

/// A program of the system that a test talks to.
struct TestProgram: Sendable {
  static let openssl = TestProgram("openssl")
  static let nginx = TestProgram("nginx")

  let name: String
  /// Where it is installed, if it is.
  let url: URL?

  init(_ name: String) {
    self.name = name
    url = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/opt/homebrew/bin"]
      .map { URL(fileURLWithPath: "\($0)/\(name)") }
      .first { FileManager.default.isExecutableFile(atPath: $0.path) }
  }

  /// Starts it.
  func start(_ arguments: [String], environment: [String: String] = [:]) throws -> ToolProcess {
    try ToolProcess(
      try #require(url, "\(name) is not installed, which CI has to do"), arguments, environment: environment)
  }

  /// Runs it to its end, which has to be a good one.
  func run(_ arguments: [String], environment: [String: String] = [:]) async throws {
    let result = try await start(arguments, environment: environment).end()
    try #require(result.status == 0, "\(name) \(arguments): \(result.errors)")
  }
}

extension Trait where Self == ConditionTrait {
  /// The test is skipped where one of the programs is missing, but not in CI.
  static func needs(_ programs: TestProgram...) -> ConditionTrait {
    let missing = programs.filter { $0.url == nil }.map(\.name).joined(separator: " and ")
    return needs(missing.isEmpty ? nil : "\(missing) is not installed")
  }

  /// The test is skipped where there is a problem with what it needs, but not in CI.
  static func needs(_ problem: String?) -> ConditionTrait {
    let isCI = ProcessInfo.processInfo.environment["CI"] != nil
    return .enabled(if: problem == nil || isCI, "\(problem ?? "")")
  }
}
