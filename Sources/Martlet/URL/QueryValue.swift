public import MartletBase

/// A value that can be used in a ``Query``.
///
/// Strings, numbers, Booleans, `UUID` and `URL` produce one item, an array produces one item for each element, and
/// `nil` produces none. An `enum` with such a raw value only needs to declare the conformance.
public protocol QueryValue {
  /// The texts to send, one for each repetition of the name, not yet percent-encoded.
  var queryValues: [String] { get }
}

extension QueryValue where Self: LosslessStringConvertible {
  /// The value's text.
  public var queryValues: [String] { [description] }
}

extension QueryValue where Self: RawRepresentable, RawValue: QueryValue {
  /// The texts of the raw value.
  public var queryValues: [String] { rawValue.queryValues }
}

extension String: QueryValue {}
extension Substring: QueryValue {}
extension Bool: QueryValue {}
extension Double: QueryValue {}
extension Float: QueryValue {}
extension Int: QueryValue {}
extension Int8: QueryValue {}
extension Int16: QueryValue {}
extension Int32: QueryValue {}
extension Int64: QueryValue {}
extension UInt: QueryValue {}
extension UInt8: QueryValue {}
extension UInt16: QueryValue {}
extension UInt32: QueryValue {}
extension UInt64: QueryValue {}

extension UUID: QueryValue {
  /// The identifier in upper case, with hyphens.
  public var queryValues: [String] { [uuidString] }
}

extension URL: QueryValue {
  /// The absolute URL as text.
  public var queryValues: [String] { [absoluteString] }
}

extension Array: QueryValue where Element: QueryValue {
  /// The texts of all elements, in order; none for an empty array.
  public var queryValues: [String] { flatMap(\.queryValues) }
}

extension Optional: QueryValue where Wrapped: QueryValue {
  /// The texts of the wrapped value; none for `nil`, so the item is omitted.
  public var queryValues: [String] { self?.queryValues ?? [] }
}
