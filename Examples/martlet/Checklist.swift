import Foundation

/// Runs the steps of the demo and prints a line for each.
@MainActor
struct Checklist {
  /// The reason why a step failed.
  struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
  }

  /// The maximum duration of a step.
  private nonisolated static let limit = Duration.seconds(10)

  let output: Terminal
  private var passed = 0
  private var count = 0
  private let start = ContinuousClock.now

  init(output: Terminal) { self.output = output }

  func begin(_ title: String) { print("\(title)\n") }

  /// Runs a step and prints its line.
  ///
  /// - Parameters:
  ///   - name: The name of the step.
  ///   - work: The step; it returns its result, or throws the reason for its failure.
  mutating func step(_ name: String, _ work: @escaping @MainActor @Sendable () async throws -> String) async {
    count += 1
    let title = name.padding(toLength: 18, withPad: " ", startingAt: 0)
    do {
      let result = try await Self.limited(work)
      passed += 1
      // Further lines are printed unchanged.
      let lines = result.split(separator: "\n", maxSplits: 1)
      print("\(output.palette.paint("✓ ok    ", .good)) \(title) \(Visible.line(String(lines.first ?? "")))")
      if lines.count > 1 { print(String(lines[1])) }
    } catch {
      print("\(output.palette.paint("✗ FAILED", .bad)) \(title) \(Visible.line("\(error)"))")
    }
  }

  /// Prints the last line.
  ///
  /// - Returns: Whether all steps passed.
  func end() -> Bool {
    print("\n\(passed) of \(count) steps ok in \((ContinuousClock.now - start).text)")
    return passed == count
  }

  private func print(_ line: String) { try? output.write(line + "\n") }

  private static func limited(_ work: @escaping @MainActor @Sendable () async throws -> String) async throws -> String {
    try await withThrowingTaskGroup(of: String.self) { group in
      group.addTask { try await work() }
      group.addTask {
        try await Task.sleep(for: limit)
        throw Failure("not done after \(limit.text)")
      }
      defer { group.cancelAll() }
      return try await group.next() ?? ""
    }
  }
}

/// Fails a step of the demo if a condition does not hold.
func check(_ condition: Bool, _ message: @autoclosure () -> String) throws {
  if !condition { throw Checklist.Failure(message()) }
}

/// Waits at most five seconds until a condition on the main actor holds.
@MainActor
func eventually(_ what: String, _ condition: () -> Bool) async throws {
  for _ in 0..<500 where !condition() { try await Task.sleep(for: .milliseconds(10)) }
  try check(condition(), "\(what) never came")
}
