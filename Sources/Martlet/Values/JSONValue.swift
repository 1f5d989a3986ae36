import Foundation

/// A JSON value of any shape (RFC 8259).
///
/// Write one as a literal, and read one with subscripts, which give ``null`` for what is missing:
///
/// ```swift
/// let order: JSONValue = ["name": "Ada", "age": 36, "tags": ["a", "b"], "boss": nil]
/// print(order["name"].string ?? "?", order["tags"][1].string ?? "?")
/// ```
///
/// ``HTTPResponse/json(_:decoder:)`` decodes it: `try response.json(JSONValue.self)`. For an object whose members have
/// types, a `Decodable` type is safer.
@frozen public enum JSONValue: Sendable, Hashable {
  /// `null`.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// A number without a fraction that fits into 64 bits.
  case integer(Int)
  /// Any other number.
  case number(Double)
  /// A string.
  case string(String)
  /// An array.
  case array([JSONValue])
  /// An object; the order of its members is not kept.
  case object([String: JSONValue])
}

extension JSONValue {
  /// The member of an object; ``null`` if there is none, or this is no object.
  ///
  /// - Parameter name: The name of the member.
  public subscript(name: String) -> JSONValue {
    if case .object(let members) = self { members[name] ?? .null } else { .null }
  }

  /// The element of an array; ``null`` if there is none, or this is no array.
  ///
  /// - Parameter index: The index of the element, from 0.
  public subscript(index: Int) -> JSONValue {
    if case .array(let elements) = self, elements.indices.contains(index) { elements[index] } else { .null }
  }

  /// Whether this is `null`.
  public var isNull: Bool { self == .null }

  /// The string, or `nil` if this is none.
  public var string: String? { if case .string(let value) = self { value } else { nil } }

  /// The Boolean value, or `nil` if this is none.
  public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

  /// The number as an integer, or `nil` if this is no number or has a fraction.
  public var int: Int? {
    switch self {
    case .integer(let value): value
    case .number(let value): Int(exactly: value)
    default: nil
    }
  }

  /// The number, or `nil` if this is none; an integer beyond 2^53 is rounded.
  public var double: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value): value
    default: nil
    }
  }

  /// The elements, or `nil` if this is no array.
  public var array: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }

  /// The members, or `nil` if this is no object.
  public var object: [String: JSONValue]? { if case .object(let members) = self { members } else { nil } }
}

extension JSONValue: Codable {
  /// Decodes any JSON value.
  ///
  /// - Parameter decoder: The decoder.
  /// - Throws: `DecodingError` for what is no JSON value.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int.self) {
      self = .integer(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let elements = try? container.decode([JSONValue].self) {
      self = .array(elements)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }

  /// Encodes the value.
  ///
  /// - Parameter encoder: The encoder.
  /// - Throws: `EncodingError` for a number that is not finite.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .array(let elements): try container.encode(elements)
    case .object(let members): try container.encode(members)
    }
  }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
  ExpressibleByDictionaryLiteral
{
  /// Makes ``null``.
  ///
  /// - Parameter nilLiteral: Nothing.
  public init(nilLiteral: ()) { self = .null }

  /// Makes a Boolean value.
  ///
  /// - Parameter value: The value.
  public init(booleanLiteral value: Bool) { self = .bool(value) }

  /// Makes an integer.
  ///
  /// - Parameter value: The value.
  public init(integerLiteral value: Int) { self = .integer(value) }

  /// Makes a number.
  ///
  /// - Parameter value: The value.
  public init(floatLiteral value: Double) { self = .number(value) }

  /// Makes a string.
  ///
  /// - Parameter value: The value.
  public init(stringLiteral value: String) { self = .string(value) }

  /// Makes an array.
  ///
  /// - Parameter elements: The elements.
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

  /// Makes an object; of members with the same name the last one counts.
  ///
  /// - Parameter elements: The members.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(Dictionary(elements) { $1 })
  }
}

extension HTTPBody {
  /// A JSON value written as a literal, such as `.json(["name": "Ada", "age": 36])`.
  ///
  /// - Parameter value: The value; if it cannot be encoded, sending throws ``HTTPError/Kind/invalidRequest``.
  /// - Returns: The body.
  public static func json(_ value: JSONValue) -> HTTPBody { json(value, encoder: JSONEncoder()) }
}
