/// The query of a URL or the fields of a form: names with values, in order.
///
/// ```swift
/// let query: Query = ["q": text, "tag": ["a", "b"], "page": nil]   // q=…&tag=a&tag=b
/// ```
///
/// Names and values are stored as plain text and encoded when they are sent. A name may occur more than once.
/// ``description`` masks the values; use ``items`` or ``encoded`` to read them.
public struct Query: Sendable, Hashable {
  /// A name with its value.
  public struct Item: Sendable, Hashable {
    /// The name as plain text.
    public var name: String

    /// The value as plain text, or `nil` for a bare name without `=`.
    public var value: String?

    /// Creates an item from plain text.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - value: The value, or `nil` for a bare name without `=`.
    public init(name: String, value: String?) {
      self.name = name
      self.value = value
    }
  }

  /// The items in the order they are sent.
  public private(set) var items: [Item] = []

  /// The text that the items were parsed from, if it is sent unchanged.
  private var spelling: String?

  /// Creates a query from items.
  ///
  /// - Parameter items: The items in order; an item with an empty name and no value is omitted.
  public init(items: [Item] = []) {
    self.items = items.filter { !$0.name.isEmpty || $0.value != nil }
  }

  /// Parses an encoded query, as found in a URL after the `?`.
  ///
  /// The text is split into items at each `&` and into name and value at the first `=`, then percent-decoded. `+` is a
  /// space, a stray `%` stands for itself, bytes that are not UTF-8 become U+FFFD, and empty items are omitted.
  ///
  /// - Parameter text: The encoded query, without `?`.
  public init(parsing text: String) {
    for piece in Array(text.utf8).split(separator: UInt8(ascii: "&")) {
      if let equals = piece.firstIndex(of: UInt8(ascii: "=")) {
        items.append(Item(name: Self.decoded(piece[..<equals]), value: Self.decoded(piece[(equals + 1)...])))
      } else {
        items.append(Item(name: Self.decoded(piece), value: nil))
      }
    }
  }

  /// Parses an encoded query like ``init(parsing:)``, and sends it as written until its items change.
  package init(spelling text: String) {
    self.init(parsing: text)
    spelling = text
  }

  /// Whether two queries have the same items, however they were encoded.
  public static func == (left: Query, right: Query) -> Bool { left.items == right.items }

  /// Hashes the items.
  public func hash(into hasher: inout Hasher) { hasher.combine(items) }

  /// Whether there are no items.
  public var isEmpty: Bool { items.isEmpty }

  /// The query as it appears in a URL, without `?`.
  ///
  /// All characters except unreserved ones are percent-encoded (RFC 3986 §2.3): a space is `%20` and a plus `%2B`,
  /// which every server reads the same way.
  public var encoded: String {
    if let spelling { return spelling }
    return
      items
      .map { item in
        let name = PercentEncoding.encode(item.name.utf8, keeping: .unreserved)
        guard let value = item.value else { return name }
        return "\(name)=\(PercentEncoding.encode(value.utf8, keeping: .unreserved))"
      }
      .joined(separator: "&")
  }

  /// The value of the first item with a name.
  ///
  /// - Parameter name: The name, compared case-sensitively.
  /// - Returns: The value, or `nil` if no item has that name or the first one has no value.
  public subscript(name: String) -> String? {
    items.first { $0.name == name }.flatMap(\.value)
  }

  /// Adds an item for each text of a value.
  ///
  /// - Parameters:
  ///   - name: The name as plain text.
  ///   - value: The value; `nil` and an empty array add nothing.
  public mutating func append(_ name: String, _ value: (any QueryValue)?) {
    guard let value else { return }
    add(value.queryValues.map { Item(name: name, value: $0) })
  }

  /// Adds a name without a value, and without `=`.
  ///
  /// - Parameter name: The name as plain text; an empty name adds nothing.
  public mutating func append(_ name: String) {
    guard !name.isEmpty else { return }
    add([Item(name: name, value: nil)])
  }

  /// Appends the items of another query to a copy; nothing is replaced.
  ///
  /// - Parameter other: The query to append.
  /// - Returns: The combined query.
  public func appending(_ other: Query) -> Query {
    var result = self
    result.add(other.items)
    return result
  }

  /// Concatenates two queries; nothing is replaced.
  ///
  /// - Parameters:
  ///   - left: The first query.
  ///   - right: The second query.
  /// - Returns: The combined query.
  public static func + (left: Query, right: Query) -> Query { left.appending(right) }

  private mutating func add(_ new: [Item]) {
    items += new
    spelling = nil
  }

  /// Joins encoded queries with `&`.
  ///
  /// Absent and empty queries add no `&`. The result is `nil` only if all queries are absent.
  static func joined(_ queries: [String?]) -> String? {
    let present = queries.compactMap(\.self)
    return present.isEmpty ? nil : present.filter { !$0.isEmpty }.joined(separator: "&")
  }

  private static func decoded(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: PercentEncoding.decode(bytes, plusAsSpace: true), as: UTF8.self)
  }
}

extension Query: ExpressibleByDictionaryLiteral {
  /// Creates a query from a dictionary literal, in its order.
  ///
  /// - Parameter elements: Names and values; a `nil` value is omitted, an array repeats its name.
  public init(dictionaryLiteral elements: (String, (any QueryValue)?)...) {
    for (name, value) in elements { append(name, value) }
  }
}

extension Query: Sequence {
  /// Returns an iterator over the items, in the order they are sent.
  public func makeIterator() -> IndexingIterator<[Item]> { items.makeIterator() }
}

extension Query: CustomStringConvertible, CustomReflectable {
  /// The encoded query with every value masked, safe to log.
  public var description: String { items.map(\.description).joined(separator: "&") }

  /// A mirror without children, so `dump` shows no values.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Query.Item: CustomStringConvertible, CustomReflectable {
  /// The encoded name with its value masked, safe to log.
  public var description: String {
    let name = PercentEncoding.encode(name.utf8, keeping: .unreserved)
    return value == nil ? name : "\(name)=***"
  }

  /// A mirror without children, so `dump` does not show the value.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
