/// Finds the types of the values in a decoder that is not one of ``JSONDocument``, by trying.
///
/// A decoder reports a type only with an error, and errors are costly. So the type of the last value with the same name
/// is tried first: in most texts it is the same.
struct JSONProbe {
  /// The levels of a document above a value, and with other decoders those in it.
  static let maximumDepth = 64

  private enum Kind: CaseIterable {
    case string, number, object, array, bool
  }

  /// The place of a value: alone, an element, or a member.
  private protocol Slot {
    var path: [any CodingKey] { get }
    mutating func isNull() throws -> Bool
    mutating func scalar<T: Decodable>(_ type: T.Type) throws -> T
    mutating func elements() throws -> any UnkeyedDecodingContainer
    mutating func members() throws -> KeyedDecodingContainer<JSONNode.Key>
  }

  private struct Alone: Slot {
    let decoder: any Decoder
    let container: any SingleValueDecodingContainer

    var path: [any CodingKey] { container.codingPath }
    func isNull() -> Bool { container.decodeNil() }
    func scalar<T: Decodable>(_ type: T.Type) throws -> T { try container.decode(type) }
    func elements() throws -> any UnkeyedDecodingContainer { try decoder.unkeyedContainer() }
    func members() throws -> KeyedDecodingContainer<JSONNode.Key> {
      try decoder.container(keyedBy: JSONNode.Key.self)
    }
  }

  private struct Element: Slot {
    var container: any UnkeyedDecodingContainer

    var path: [any CodingKey] { container.codingPath + [JSONNode.Key(intValue: container.currentIndex)] }
    mutating func isNull() throws -> Bool { try container.decodeNil() }
    mutating func scalar<T: Decodable>(_ type: T.Type) throws -> T { try container.decode(type) }
    mutating func elements() throws -> any UnkeyedDecodingContainer { try container.nestedUnkeyedContainer() }
    mutating func members() throws -> KeyedDecodingContainer<JSONNode.Key> {
      try container.nestedContainer(keyedBy: JSONNode.Key.self)
    }
  }

  private struct Member: Slot {
    let container: KeyedDecodingContainer<JSONNode.Key>
    let key: JSONNode.Key

    var path: [any CodingKey] { container.codingPath + [key] }
    func isNull() throws -> Bool { try container.decodeNil(forKey: key) }
    func scalar<T: Decodable>(_ type: T.Type) throws -> T { try container.decode(type, forKey: key) }
    func elements() throws -> any UnkeyedDecodingContainer { try container.nestedUnkeyedContainer(forKey: key) }
    func members() throws -> KeyedDecodingContainer<JSONNode.Key> {
      try container.nestedContainer(keyedBy: JSONNode.Key.self, forKey: key)
    }
  }

  /// The kind of the last value with that name, and of the last element.
  private var members: [String: Kind] = [:]
  private var element: Kind?

  static func value(of decoder: any Decoder) throws -> JSONValue {
    let path = decoder.codingPath
    try checkDepth(path)
    var probe = JSONProbe()
    var slot = Alone(decoder: decoder, container: try decoder.singleValueContainer())
    return try probe.value(&slot, depth: path.count, likely: nil).value
  }

  static func checkDepth(_ path: [any CodingKey]) throws {
    guard path.count >= maximumDepth else { return }
    throw JSONMisfit(message: "nesting is deeper than \(maximumDepth) levels").decodingError(at: path)
  }

  private mutating func value(
    _ slot: inout some Slot, depth: Int, likely: Kind?
  ) throws -> (value: JSONValue, kind: Kind?) {
    if try slot.isNull() { return (.null, likely) }
    if let likely, let value = try value(likely, &slot, depth) { return (value, likely) }
    for kind in Kind.allCases where kind != likely {
      if let value = try value(kind, &slot, depth) { return (value, kind) }
    }
    throw JSONMisfit(message: "not a JSON value, or a number that is out of range").decodingError(at: slot.path)
  }

  /// The value, or `nil` if it is of another kind.
  private mutating func value(_ kind: Kind, _ slot: inout some Slot, _ depth: Int) throws -> JSONValue? {
    switch kind {
    case .string: return (try? slot.scalar(String.self)).map { .string($0) }
    case .bool: return (try? slot.scalar(Bool.self)).map { .bool($0) }
    case .number: return Self.number(&slot)
    case .array: return try (try? slot.elements()).map { try array($0, depth + 1) }
    case .object: return try (try? slot.members()).map { try object($0, depth + 1) }
    }
  }

  private static func number(_ slot: inout some Slot) -> JSONValue? {
    do {
      return .integer(try slot.scalar(Int.self))
    } catch DecodingError.typeMismatch {
      return nil
    } catch {
      if let value = try? slot.scalar(UInt64.self) { return .digits(String(value)) }
      return (try? slot.scalar(Double.self)).map { .number($0) }
    }
  }

  private mutating func array(_ container: any UnkeyedDecodingContainer, _ depth: Int) throws -> JSONValue {
    if depth > Self.maximumDepth { try Self.checkDepth(container.codingPath) }
    var slot = Element(container: container)
    var values: [JSONValue] = []
    while !slot.container.isAtEnd {
      let (value, kind) = try value(&slot, depth: depth, likely: element)
      element = kind
      values.append(value)
    }
    return .array(values)
  }

  private mutating func object(_ container: KeyedDecodingContainer<JSONNode.Key>, _ depth: Int) throws -> JSONValue {
    if depth > Self.maximumDepth { try Self.checkDepth(container.codingPath) }
    var values: [String: JSONValue] = [:]
    for key in container.allKeys {
      var slot = Member(container: container, key: key)
      let (value, kind) = try value(&slot, depth: depth, likely: members[key.stringValue])
      members[key.stringValue] = kind
      values[key.stringValue] = value
    }
    return .object(values)
  }
}
