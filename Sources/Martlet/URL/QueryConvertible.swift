import MartletBase

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

  private static func sorted(_ values: [String: [String]]) -> [Item] {
    values.keys.sorted().flatMap { name in (values[name] ?? []).map { Item(name: name, value: $0) } }
  }
}

extension Dictionary: QueryConvertible where Key == String, Value: QueryValue {
  /// The items sorted by name.
  public var requestQuery: Query { Query(self) }
}
