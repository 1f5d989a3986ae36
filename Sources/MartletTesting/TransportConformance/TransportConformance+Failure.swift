/// A violation of ``TransportConformance`` by a transport.
public struct ConformanceFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// The name of the case.
  public let caseName: String
  /// The expected result.
  public let expected: String
  /// The actual result.
  public let actual: String

  /// The case, the expected and the actual result, in three lines.
  public var description: String {
    "The transport fails the case \"\(caseName)\".\n  Expected: \(expected)\n  Got: \(actual)"
  }
}
