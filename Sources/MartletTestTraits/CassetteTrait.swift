import Foundation
public import Martlet
public import MartletTesting
import Synchronization
public import Testing

/// Provides a cassette to a test.
///
/// Create it with `.cassette(_:)`.
public struct CassetteTrait: TestTrait, SuiteTrait, TestScoping {
  let name: String
  let mode: Cassette.Mode
  let matching: Cassette.Matching
  let pacing: Cassette.Pacing
  let redaction: Redaction?
  let file: URL

  /// Each test of a suite has its own cassette.
  public var isRecursive: Bool { true }

  /// Runs a test with its cassette; if it fails, attaches the exchanges so far.
  ///
  /// - Parameters:
  ///   - test: The test.
  ///   - testCase: Its case.
  ///   - function: The test's function.
  /// - Throws: The error of the test.
  @concurrent public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    let cassette = Cassette(file, mode: mode, matching: matching, pacing: pacing, redaction: redaction)
    let hasFailed = Atomic(false)
    let watch = IssueHandlingTrait.compactMapIssues { issue in
      if issue.severity == .error { hasFailed.store(true, ordering: .relaxed) }
      return issue
    }
    func attach() { Attachment.record(Array(cassette.transcript), named: "\(name).har") }
    do {
      try await watch.provideScope(for: test, testCase: testCase) {
        try await Cassette.$current.withValue(cassette) { try await function() }
      }
    } catch {
      attach()
      throw error
    }
    if hasFailed.load(ordering: .relaxed) { attach() }
  }
}

extension Trait where Self == CassetteTrait {
  /// Records the responses to a test, and replays them later.
  ///
  /// ```swift
  /// @Test(.cassette("greeting")) func greets() async throws {
  ///   let client = HTTPClient { $0.transport = .cassette }
  ///   let greeting = try await client.get("http://example.test/hello").text
  ///   #expect(greeting == "Hello")
  /// }
  /// ```
  ///
  /// The file is `Cassettes/greeting.har` beside the test's file. If a test fails, its exchanges are attached. Several
  /// tests, or cases of a test, may share a cassette; each begins with all of its entries.
  ///
  /// - Parameters:
  ///   - name: The name of the file, without `.har`; it may contain folders.
  ///   - mode: When to record; by default `Cassette.Mode.automatic`.
  ///   - matching: The parts of a request that must be equal; by default method, URL and body.
  ///   - pacing: The time that replayed responses take; by default none.
  ///   - redaction: The secrets to mask; by default those that the client masks in logs.
  ///   - file: The file of the test.
  /// - Returns: The trait.
  public static func cassette(
    _ name: String, mode: Cassette.Mode = .automatic, matching: Cassette.Matching = .standard,
    pacing: Cassette.Pacing = .immediate, redaction: Redaction? = nil, file: String = #filePath
  ) -> CassetteTrait {
    let folder = URL(filePath: file).deletingLastPathComponent().appending(path: "Cassettes")
    return CassetteTrait(
      name: name, mode: mode, matching: matching, pacing: pacing, redaction: redaction,
      file: folder.appending(path: "\(name).har"))
  }
}
