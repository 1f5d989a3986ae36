import Martlet

/// A group of tests.
struct Suite: Decodable, Sendable {
  let id: String
  let name: String
  var tests: [Test]
}

/// A test: requests that are sent in sequence, each with its expectations.
struct Test: Decodable, Sendable {
  /// The meaning of a failure.
  enum Kind: String, Decodable, Sendable, CaseIterable {
    /// The cache violates the standard.
    case required
    /// The cache sends a request that it could avoid.
    case optimal
    /// Nothing, because both behaviors are allowed.
    case check
  }

  let id: String
  let kind: Kind
  /// The tests that must also pass for this test to be meaningful.
  let dependencies: [String]
  /// Whether the suite's page for browsers runs the test.
  let isForBrowsers: Bool
  let isForCDNs: Bool
  let requests: [Step]
  /// The text that configures the server's responses.
  let configuration: String

  /// Whether the test is about interim responses, which the client does not report.
  var needsInterimResponses: Bool { requests.contains { $0["expected_interim_responses"] != nil } }
}

/// A request of a test, with the members defined by the suite.
struct Step: Decodable, Sendable {
  private let members: [String: JSON]

  init(from decoder: any Decoder) throws {
    members = try decoder.singleValueContainer().decode([String: JSON].self)
  }

  /// A member, which may be `null`, or `nil` if it is missing.
  subscript(name: String) -> JSON? { members[name] }

  func isTrue(_ name: String) -> Bool { members[name] == .bool(true) }

  /// Whether a failed expectation is a failure of the setup, which says nothing about the cache.
  func isSetup(_ expectation: String) -> Bool {
    isTrue("setup") || members["setup_tests"]?.list.contains(.string(expectation)) == true
  }
}
