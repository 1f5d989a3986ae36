import Foundation

/// The suite's JavaScript, run by `node`.
enum Node {
  /// Reads the tests of a checkout.
  static func suites(of checkout: String) throws -> [Suite] {
    let (process, output, _) = try start("export", checkout, isVerbose: true)
    let data = output.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Complaint("the tests of \(checkout) cannot be read") }
    return try JSONDecoder().decode([Suite].self, from: data)
  }

  fileprivate static func start(
    _ job: String, _ checkout: String, isVerbose: Bool
  ) throws -> (Process, output: FileHandle, input: FileHandle) {
    guard let script = Bundle.module.path(forResource: "suite", ofType: "mjs") else {
      throw Complaint("suite.mjs is missing")
    }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["node", script, job, checkout]
    let output = Pipe()
    let input = Pipe()
    process.standardOutput = output
    process.standardInput = input
    if !isVerbose { process.standardError = FileHandle.nullDevice }
    try process.run()
    return (process, output.fileHandleForReading, input.fileHandleForWriting)
  }
}

/// The suite's server, which runs until ``stop()`` or the end of this program.
final class SuiteServer {
  /// The server's URL, without a slash at the end.
  let url: String
  private let process: Process
  private let input: FileHandle

  init(_ checkout: String, isVerbose: Bool) throws {
    let output: FileHandle
    (process, output, input) = try Node.start("serve", checkout, isVerbose: isVerbose)
    var line = Data()
    while line.last != UInt8(ascii: "\n") {
      let more = output.availableData
      if more.isEmpty { throw Complaint("the server of \(checkout) does not start") }
      line += more
    }
    url = String(decoding: line.dropLast(), as: UTF8.self)
  }

  func stop() {
    // The server ends when its input does.
    try? input.close()
    process.waitUntilExit()
  }
}
