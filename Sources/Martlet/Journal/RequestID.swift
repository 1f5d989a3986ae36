/// The number of a call, the same for all its attempts and redirects; unique within the process.
public struct RequestID: Hashable, Sendable, Comparable, CustomStringConvertible {
  let number: UInt64

  /// The number.
  public var description: String { String(number) }

  /// Whether the first call was made before the second.
  public static func < (first: RequestID, second: RequestID) -> Bool { first.number < second.number }
}
