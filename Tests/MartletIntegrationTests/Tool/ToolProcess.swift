import Foundation
import Testing

/// A program run by a test: its output goes to files, and it is killed when it takes too long.
final class ToolProcess {
  struct Result {
    let status: Int32
    let output: Data
    let errors: String

    var text: String { String(decoding: output, as: UTF8.self) }
  }

  struct TookTooLong: Error {}

  private final class Anchor {}

  private let process = Process()
  private let folder: TemporaryFolder

  /// The tool, which is built into the folder of the tests.
  static func martlet() throws -> URL { try built("martlet") }

  /// A program of the package, which is built into the folder of the tests.
  static func built(_ name: String) throws -> URL {
    let places = [
      Bundle(for: Anchor.self).bundleURL, Bundle.main.executableURL,
      CommandLine.arguments.first.map { URL(fileURLWithPath: $0) },
    ]
    let folders = places.compactMap { $0 }.flatMap { [$0, $0.deletingLastPathComponent()] }
    let candidates = folders.map { $0.appendingPathComponent(name) }
    return try #require(
      candidates.first {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: $0.path, isDirectory: &isFolder) && !isFolder.boolValue
      }, "\(name) is not built: it is looked for in \(folders.map(\.path))")
  }

  /// Runs the tool to its end.
  static func martlet(_ arguments: String..., environment: [String: String] = [:]) async throws -> Result {
    try await ToolProcess(try martlet(), arguments, environment: environment).end()
  }

  /// Starts a program.
  init(_ executable: URL, _ arguments: [String], environment: [String: String] = [:]) throws {
    folder = try TemporaryFolder()
    process.executableURL = executable
    process.arguments = arguments
    // The proxies of whoever runs the tests cannot reach their servers.
    process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.lowercased().hasSuffix("_proxy") }
      .merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = try folder.open("output")
    process.standardError = try folder.open("errors")
    try process.run()
  }

  deinit {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
  }

  /// What it has written up to now.
  var outputSoFar: String { String(decoding: (try? folder.contents("output")) ?? Data(), as: UTF8.self) }

  /// Whether it runs.
  var isRunning: Bool { process.isRunning }

  func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

  /// Waits for the end of the program.
  func end(within limit: Duration = .seconds(30)) async throws -> Result {
    let deadline = ContinuousClock.now + limit
    while process.isRunning {
      guard ContinuousClock.now < deadline else {
        kill(process.processIdentifier, SIGKILL)
        throw TookTooLong()
      }
      try await Task.sleep(for: .milliseconds(5))
    }
    return Result(
      status: process.terminationStatus, output: try folder.contents("output"),
      errors: String(decoding: try folder.contents("errors"), as: UTF8.self))
  }
}

/// A folder that is removed with its last reference.
final class TemporaryFolder {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-tests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: url.path))?.sorted() ?? [] }

  func path(_ name: String) -> String { url.appendingPathComponent(name).path }

  func contents(_ name: String) throws -> Data { try Data(contentsOf: url.appendingPathComponent(name)) }

  func write(_ text: String, to name: String) throws {
    let file = url.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
  }

  fileprivate func open(_ name: String) throws -> FileHandle {
    try write("", to: name)
    return try FileHandle(forWritingTo: url.appendingPathComponent(name))
  }
}
