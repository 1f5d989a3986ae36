import Foundation

/// A score as text and as a file.
struct Report {
  let score: Score

  var text: String {
    var lines = [Self.row("", Test.Kind.allCases.map(\.rawValue))]
    for suite in score.suites {
      lines.append(Self.row(suite.id, Test.Kind.allCases.map { cell(score.count($0, in: suite)) }))
    }
    lines.append(Self.row("all", Test.Kind.allCases.map { cell(score.count($0)) }))
    let alone = score.withoutDependencies
    lines.append(Self.row("all, each test alone", Test.Kind.allCases.map { cell(alone.count($0)) }))
    for kind in Test.Kind.allCases {
      let rest = score.suites.flatMap(\.tests).filter { $0.kind == kind && score.verdict($0) != .passed }
      if rest.isEmpty { continue }
      lines += ["", "\(kind.rawValue), not passed:"]
      lines += rest.map { "  \($0.id): \(reason($0))" }
    }
    return lines.joined(separator: "\n")
  }

  private func reason(_ test: Test) -> String {
    let verdict = score.verdict(test)
    var text = verdict.rawValue
    if verdict == .dependencyFailed {
      let tests = Dictionary(score.suites.flatMap(\.tests).map { ($0.id, $0) }) { first, _ in first }
      let failed = test.dependencies.filter { tests[$0].map { score.verdict($0) != .passed } ?? true }
      text += " (\(failed.joined(separator: ", ")))"
    }
    if case .failed(let failure) = score.outcomes[test.id] { text += "; \(failure)" }
    return text
  }

  /// Writes the counts and the results in the format of the suite's own files.
  func write(to path: String) throws {
    struct Counts: Encodable {
      let passed: Int
      let passedByItself: Int
      let total: Int
    }
    struct File: Encodable {
      let counts: [String: Counts]
      let results: [String: Outcome]
    }
    let alone = score.withoutDependencies
    let counts = Test.Kind.allCases.map { kind in
      let count = score.count(kind)
      return (kind.rawValue, Counts(passed: count.passed, passedByItself: alone.count(kind).passed, total: count.total))
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let file = File(counts: Dictionary(uniqueKeysWithValues: counts), results: score.outcomes)
    try encoder.encode(file).write(to: URL(fileURLWithPath: path))
  }

  /// Reads results from a file written by ``write(to:)`` or by the suite.
  static func read(_ path: String) throws -> [String: Outcome] {
    let data = try Data(contentsOf: URL(fileURLWithPath: path))
    struct File: Decodable { let results: [String: Outcome] }
    if let file = try? JSONDecoder().decode(File.self, from: data) { return file.results }
    return try JSONDecoder().decode([String: Outcome].self, from: data)
  }

  private func cell(_ count: Score.Count) -> String { count.total == 0 ? "–" : "\(count)" }

  private static func row(_ name: String, _ cells: [String]) -> String {
    let padded = cells.map { String(repeating: " ", count: max(0, 10 - $0.count)) + $0 }
    return name.padding(toLength: max(26, name.count), withPad: " ", startingAt: 0) + padded.joined()
  }
}
