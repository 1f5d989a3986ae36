public import MartletBase

/// A value that is a query as a whole: a ``Query``, or a dictionary of query values.
///
/// Requests accept such a value wherever they accept a ``Query`` literal.
public protocol QueryConvertible {
  /// The query.
  var requestQuery: Query { get }
}

extension Query: QueryConvertible {
  /// The query itself.
  public var requestQuery: Query { self }

  /// Creates a query from a dictionary, sorted by name.
  ///
  /// A dictionary is unordered. Sorting makes its URL the same in each request, as caches and signatures need it.
  ///
  /// - Parameter dictionary: Names and values; a `nil` value is omitted, an array repeats its name.
  public init(_ dictionary: [String: some QueryValue]) {
    self.init(items: Self.sorted(dictionary.mapValues(\.queryValues)))
  }

  /// Creates a query from a dictionary of different types of values, sorted by name.
  ///
  /// - Parameter dictionary: Names and values.
  @_disfavoredOverload public init(_ dictionary: [String: any QueryValue]) {
    self.init(items: Self.sorted(dictionary.mapValues(\.queryValues)))
  }

  @available(*, unavailable, message: "declare the dictionary as [String: any QueryValue]")
  public init(_ dictionary: [String: Any]) { self = [:] }

  private static func sorted(_ values: [String: [String]]) -> [Item] {
    values.keys.sorted().flatMap { name in (values[name] ?? []).map { Item(name: name, value: $0) } }
  }
}

extension Dictionary: QueryConvertible where Key == String, Value: QueryDictionaryValue {
  /// The items sorted by name.
  public var requestQuery: Query { Query(self) }
}

/// A value of a dictionary that is a query; an `enum` with such a raw value only needs to declare the conformance.
///
/// `Float` and `Double` are missing. With them, a literal such as `["page": 1, "ratio": 0.5]` would be a dictionary of
/// `Double`, and its `page` would be `1.0`. For a dictionary of these types, write `Query(dictionary)`.
public protocol QueryDictionaryValue: QueryValue {}

extension String: QueryDictionaryValue {}
extension Substring: QueryDictionaryValue {}
extension Bool: QueryDictionaryValue {}
extension Int: QueryDictionaryValue {}
extension Int8: QueryDictionaryValue {}
extension Int16: QueryDictionaryValue {}
extension Int32: QueryDictionaryValue {}
extension Int64: QueryDictionaryValue {}
extension UInt: QueryDictionaryValue {}
extension UInt8: QueryDictionaryValue {}
extension UInt16: QueryDictionaryValue {}
extension UInt32: QueryDictionaryValue {}
extension UInt64: QueryDictionaryValue {}
extension UUID: QueryDictionaryValue {}
extension URL: QueryDictionaryValue {}
extension Array: QueryDictionaryValue where Element: QueryDictionaryValue {}
extension Optional: QueryDictionaryValue where Wrapped: QueryDictionaryValue {}
