/// What a transport did in place of what ``TransportConformance`` asks for.
public struct ConformanceFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// The name of the case.
  public let caseName: String
  /// What was asked for.
  public let expected: String
  /// What there was.
  public let got: String

  /// The case, what was expected and what there was, in three lines.
  public var description: String {
    "The transport fails the case \"\(caseName)\".\n  Expected: \(expected)\n  Got: \(got)"
  }
}
