import Foundation
import MartletTesting
import TestSupport
import Testing

/// A program run by a test: its output goes to files, and it is killed with its last reference.
final class ToolProcess: Sendable {
  struct Result {
    let status: Int32
    let output: Data
    let errors: String

    var text: String { String(decoding: output, as: UTF8.self) }
  }

  private final class Anchor {}

  private static let starting = NSLock()

  private let process = Process()
  private let folder: TemporaryFolder

  /// Returns the tool, which is built into the tests' folder.
  static func martlet() throws -> URL { try built("martlet") }

  /// Returns a program of the package, which is built into the tests' folder.
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
  init(
    _ executable: URL, _ arguments: [String], environment: [String: String] = [:], input: FileHandle = .nullDevice
  ) throws {
    folder = try TemporaryFolder()
    process.executableURL = executable
    process.arguments = arguments
    // Proxies from the environment cannot reach the tests' servers, and the user's configuration would change results.
    process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.lowercased().hasSuffix("_proxy") }
      .merging(["MARTLET_CONFIG": ""]) { $1 }.merging(environment) { $1 }
    process.standardInput = input
    process.standardOutput = try FileHandle(forWritingTo: folder.write("", to: "output"))
    process.standardError = try FileHandle(forWritingTo: folder.write("", to: "errors"))
    // Foundation learns of a program's end through a descriptor that programs started in the meantime would inherit. It
    // would then collect this program only when those end. Until then, code that waits for other child processes, such
    // as exit tests, would find this program again and again.
    try Self.starting.withLock { try process.run() }
  }

  deinit {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
  }

  /// The program's standard output so far.
  var outputSoFar: String { String(decoding: (try? folder.contents("output")) ?? Data(), as: UTF8.self) }

  /// The program's standard error so far.
  var errorsSoFar: String { String(decoding: (try? folder.contents("errors")) ?? Data(), as: UTF8.self) }

  /// Whether the program is running.
  var isRunning: Bool { process.isRunning }

  func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

  /// Waits until the program accepts connections on all of these ports of 127.0.0.1.
  ///
  /// - Returns: Whether it does; `false` if it has ended.
  func opens(_ ports: [Int]) async -> Bool {
    let isOver = await becomes(every: .milliseconds(10)) {
      guard process.isRunning else { return true }
      let isOpen = try? await onThread { () throws -> Bool in
        for port in ports { _ = try RawClient(port: port) }
        return true
      }
      return isOpen == true
    }
    return isOver && process.isRunning
  }

  func opens(_ ports: Int...) async -> Bool { await opens(ports) }

  /// Starts a program that listens on a given port.
  ///
  /// Another process may take a port between its choice and its use, so up to three ports are tried.
  ///
  /// - Parameters:
  ///   - name: The program's name.
  ///   - start: Starts the program with a port.
  ///   - isReady: Waits until the program can be used or has ended.
  /// - Returns: The program and its port.
  /// - Throws: A test failure if the program does not start.
  static func listening(
    _ name: String, _ start: (Int) throws -> ToolProcess,
    isReady: (ToolProcess, Int) async -> Bool = { await $0.opens($1) }
  ) async throws -> (process: ToolProcess, port: Int) {
    var output = ""
    for _ in 0..<3 {
      let port = try MockServer.refusedPort()
      let process = try start(port)
      if await isReady(process, port) { return (process, port) }
      output = process.outputSoFar + process.errorsSoFar
    }
    throw NotStarted(name: name, output: output)
  }

  struct NotStarted: Error {
    let name: String
    let output: String
  }

  /// Waits for the program to end.
  func end() async throws -> Result {
    while process.isRunning { try await Task.sleep(for: .milliseconds(5)) }
    return Result(
      status: process.terminationStatus, output: try folder.contents("output"),
      errors: String(decoding: try folder.contents("errors"), as: UTF8.self))
  }
}
