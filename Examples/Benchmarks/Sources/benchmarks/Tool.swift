import Foundation

/// A program installed on the system.
struct Tool {
  let path: String

  /// - Throws: ``Complaint`` that says how to install the program.
  init(_ name: String) throws {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let places = path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/local/sbin"]
    guard let place = places.first(where: { FileManager.default.isExecutableFile(atPath: "\($0)/\(name)") }) else {
      throw Complaint(
        """
        \(name) is not installed. Debian, Ubuntu: apt-get install \(name); Fedora: dnf install \(name); \
        Alpine: apk add \(name); macOS: brew install \(name)
        """)
    }
    self.path = "\(place)/\(name)"
  }

  /// Runs the program until it ends, and returns its output.
  @discardableResult
  func run(_ arguments: [String], in folder: URL? = nil) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    process.currentDirectoryURL = folder
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Complaint("\(path) \(arguments.first ?? "") failed: \(text)")
    }
    return text
  }
}
