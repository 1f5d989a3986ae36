/// The query of a URL, or the fields of a form: names with values, in order.
///
/// ```swift
/// let query: Query = ["q": text, "tag": ["a", "b"], "page": nil]   // q=…&tag=a&tag=b
/// ```
///
/// Names and values are held as plain text and encoded when they are sent. A name may occur more than once.
/// ``description`` masks the values; read ``items`` or ``encoded`` for them.
public struct Query: Sendable, Hashable {
  /// One name with its value.
  public struct Item: Sendable, Hashable {
    /// The name as plain text.
    public var name: String

    /// The value as plain text, or `nil` for a bare name without `=`.
    public var value: String?

    /// Makes an item of plain texts.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - value: The value, or `nil` for a bare name without `=`.
    public init(name: String, value: String?) {
      self.name = name
      self.value = value
    }

    /// Whether nothing of the item would be left in encoded text.
    fileprivate var isVoid: Bool { name.isEmpty && value == nil }
  }

  /// The items in the order they are sent.
  public private(set) var items: [Item] = []

  /// The text that the items were read from, if it is to be sent as it is.
  private var spelling: String?

  /// Makes a query of items.
  ///
  /// - Parameter items: The items in order; one with an empty name and no value at all is left out.
  public init(items: [Item] = []) {
    self.items = items.filter { !$0.isVoid }
  }

  /// Reads an encoded query, as it stands in a URL after the `?`.
  ///
  /// Pieces are split at `&` and at their first `=`, then percent-decoded; `+` is a space, a stray `%` means itself,
  /// bytes that are not UTF-8 become U+FFFD, and empty pieces are left out.
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

  /// Reads an encoded query as ``init(parsing:)`` does; as long as the items are not changed, it is sent as it is written.
  package init(spelling text: String) {
    self.init(parsing: text)
    spelling = text
  }

  /// Whether both have the same items, however they are written.
  public static func == (left: Query, right: Query) -> Bool { left.items == right.items }

  /// Hashes the items.
  public func hash(into hasher: inout Hasher) { hasher.combine(items) }

  /// Whether there are no items.
  public var isEmpty: Bool { items.isEmpty }

  /// The query as it stands in a URL, without `?`.
  ///
  /// Everything but unreserved characters is percent-encoded (RFC 3986 §2.3): a space is `%20` and a plus `%2B`, which
  /// every server reads alike.
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

  /// The value of the first item of a name.
  ///
  /// - Parameter name: The name, in the same case.
  /// - Returns: The value, or `nil` if no item has the name or the first one is bare.
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

  /// Adds a bare name, without `=`.
  ///
  /// - Parameter name: The name as plain text; an empty one adds nothing.
  public mutating func append(_ name: String) {
    guard !name.isEmpty else { return }
    add([Item(name: name, value: nil)])
  }

  /// Puts the items of another query after these; nothing is replaced.
  ///
  /// - Parameter other: The query that goes last.
  /// - Returns: Both, in order.
  public func appending(_ other: Query) -> Query {
    var result = self
    result.add(other.items)
    return result
  }

  /// Puts the items of one query after those of another; nothing is replaced.
  ///
  /// - Parameters:
  ///   - left: The query that goes first.
  ///   - right: The query that goes last.
  /// - Returns: Both, in order.
  public static func + (left: Query, right: Query) -> Query { left.appending(right) }

  private mutating func add(_ new: [Item]) {
    items += new
    spelling = nil
  }

  /// Joins encoded queries; absent and empty ones leave no `&`, and only absent ones give `nil`.
  static func joined(_ queries: [String?]) -> String? {
    let present = queries.compactMap(\.self)
    return present.isEmpty ? nil : present.filter { !$0.isEmpty }.joined(separator: "&")
  }

  private static func decoded(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: PercentEncoding.decode(bytes, plusAsSpace: true), as: UTF8.self)
  }
}

extension Query: ExpressibleByDictionaryLiteral {
  /// Makes a query of a dictionary literal, in its order.
  ///
  /// - Parameter elements: Names and values; a `nil` value is left out, an array repeats its name.
  public init(dictionaryLiteral elements: (String, (any QueryValue)?)...) {
    for (name, value) in elements { append(name, value) }
  }
}

extension Query: Sequence {
  /// Walks over the items in the order they are sent.
  public func makeIterator() -> IndexingIterator<[Item]> { items.makeIterator() }
}

extension Query: CustomStringConvertible, CustomReflectable {
  /// The encoded query with every value masked, fit for a log.
  public var description: String { items.map(\.description).joined(separator: "&") }

  /// A mirror without children, so that `dump` shows no values either.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Query.Item: CustomStringConvertible, CustomReflectable {
  /// The encoded name with its value masked, fit for a log.
  public var description: String {
    let name = PercentEncoding.encode(name.utf8, keeping: .unreserved)
    return value == nil ? name : "\(name)=***"
  }

  /// A mirror without children, so that `dump` does not show the value either.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
