/// Finds the types of the values in a decoder that does not belong to a ``JSONDocument``, by trial.
///
/// A decoder reports a type only with an error, and errors are costly. So the type of the last value with the same name
/// is tried first: in most texts it is the same.
struct JSONProbe {
  /// The levels of a document above a value; with other decoders, the levels in the value as well.
  static let maximumDepth = 64

  private enum Kind: CaseIterable {
    case string, number, object, array, bool
  }

  /// The kind of the last value with that name, and of the last element.
  private var members: [String: Kind] = [:]
  private var element: Kind?

  static func value(of decoder: any Decoder) throws -> JSONValue {
    let path = decoder.codingPath
    try checkDepth(path)
    var probe = JSONProbe()
    return try probe.value(of: decoder, depth: path.count, likely: nil).value
  }

  static func checkDepth(_ path: [any CodingKey]) throws {
    guard path.count >= maximumDepth else { return }
    throw JSONMisfit(message: "nesting is deeper than \(maximumDepth) levels").decodingError(at: path)
  }

  private mutating func value(
    of decoder: any Decoder, depth: Int, likely: Kind?
  ) throws -> (value: JSONValue, kind: Kind?) {
    if try decoder.singleValueContainer().decodeNil() { return (.null, likely) }
    if let likely, let value = try value(likely, decoder, depth) { return (value, likely) }
    for kind in Kind.allCases where kind != likely {
      if let value = try value(kind, decoder, depth) { return (value, kind) }
    }
    throw JSONMisfit(message: "not a JSON value, or a number that is out of range")
      .decodingError(at: decoder.codingPath)
  }

  /// The value, or `nil` if it is of another kind.
  private mutating func value(_ kind: Kind, _ decoder: any Decoder, _ depth: Int) throws -> JSONValue? {
    switch kind {
    case .string: return (try? decoder.singleValueContainer().decode(String.self)).map { .string($0) }
    case .bool: return (try? decoder.singleValueContainer().decode(Bool.self)).map { .bool($0) }
    case .number: return Self.number(try decoder.singleValueContainer())
    case .array: return try (try? decoder.unkeyedContainer()).map { try array($0, depth + 1) }
    case .object:
      return try (try? decoder.container(keyedBy: JSONNode.Key.self)).map { try object($0, depth + 1) }
    }
  }

  private static func number(_ container: any SingleValueDecodingContainer) -> JSONValue? {
    do {
      return .integer(try container.decode(Int.self))
    } catch DecodingError.typeMismatch {
      return nil
    } catch {
      if let value = try? container.decode(UInt64.self) { return .digits(String(value)) }
      return (try? container.decode(Double.self)).map { .number($0) }
    }
  }

  private mutating func array(_ container: any UnkeyedDecodingContainer, _ depth: Int) throws -> JSONValue {
    if depth > Self.maximumDepth { try Self.checkDepth(container.codingPath) }
    var container = container
    var values: [JSONValue] = []
    while !container.isAtEnd {
      let (value, kind) = try value(of: container.superDecoder(), depth: depth, likely: element)
      element = kind
      values.append(value)
    }
    return .array(values)
  }

  private mutating func object(_ container: KeyedDecodingContainer<JSONNode.Key>, _ depth: Int) throws -> JSONValue {
    if depth > Self.maximumDepth { try Self.checkDepth(container.codingPath) }
    var values: [String: JSONValue] = [:]
    for key in container.allKeys {
      let name = key.stringValue
      let (value, kind) = try value(of: container.superDecoder(forKey: key), depth: depth, likely: members[name])
      members[name] = kind
      values[name] = value
    }
    return .object(values)
  }
}
