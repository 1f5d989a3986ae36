/// The number of a call, unique within the process.
///
/// All attempts and redirects of a call share it.
public struct RequestID: Hashable, Sendable, Comparable, CustomStringConvertible {
  let number: UInt64

  /// The number.
  public var description: String { String(number) }

  /// Whether the first call was made before the second.
  public static func < (first: RequestID, second: RequestID) -> Bool { first.number < second.number }
}
