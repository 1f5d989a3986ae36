import Martlet

/// One group of tests.
struct Suite: Decodable, Sendable {
  let id: String
  let name: String
  var tests: [Test]
}

/// One test: requests that are sent one after the other, and what is expected of each.
struct Test: Decodable, Sendable {
  /// What it says about a cache if the test fails.
  enum Kind: String, Decodable, Sendable, CaseIterable {
    /// It breaks the standard.
    case required
    /// It asks the server although it need not.
    case optimal
    /// Nothing; both ways are right.
    case check
  }

  let id: String
  let kind: Kind
  /// The tests without which a pass means nothing.
  let dependencies: [String]
  /// Whether the suite's page for browsers runs it.
  let isForBrowsers: Bool
  let isForCDNs: Bool
  let requests: [Step]
  /// The text that tells the server what to answer.
  let configuration: String

  /// Whether it is about responses that the client keeps to itself.
  var needsInterimResponses: Bool { requests.contains { $0["expected_interim_responses"] != nil } }
}

/// One request of a test, with the members that the suite gave it.
struct Step: Decodable, Sendable {
  private let members: [String: JSON]

  init(from decoder: any Decoder) throws {
    members = try decoder.singleValueContainer().decode([String: JSON].self)
  }

  /// A member, which may be `null`, or `nil` if it is missing.
  subscript(name: String) -> JSON? { members[name] }

  func isTrue(_ name: String) -> Bool { members[name] == .bool(true) }

  /// Whether a failure of that expectation says that the test could not be made, and nothing about the cache.
  func isSetup(_ expectation: String) -> Bool {
    isTrue("setup") || members["setup_tests"]?.list.contains(.string(expectation)) == true
  }
}
