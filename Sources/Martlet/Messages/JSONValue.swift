import Foundation

/// A JSON value of any shape (RFC 8259).
///
/// Create a value with a literal and read it with subscripts, which return ``null`` for anything missing:
///
/// ```swift
/// let order: JSONValue = ["name": "Ada", "age": 36, "tags": ["a", "b"], "boss": .null]
/// print(order["name"].string ?? "?", order["tags"][1].string ?? "?")
/// ```
///
/// In a literal, `null` is written ``null``, and values that are not literals are wrapped:
/// `["name": .string(name), "age": .integer(age)]`.
///
/// ``HTTPResponse/json(_:decoder:)`` decodes it, up to 128 levels deep: `try response.json(JSONValue.self)`. If several
/// members have the same name, the last one is used. For an object with members of known types, a `Decodable` type is
/// safer.
@frozen public enum JSONValue: Sendable {
  /// `null`.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// A number without a fraction that fits into `Int`.
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
  /// The member with that name, or ``null`` if there is none or this is not an object.
  ///
  /// - Parameter name: The name of the member.
  public subscript(name: String) -> JSONValue {
    if case .object(let members) = self { members[name] ?? .null } else { .null }
  }

  /// The element at that index, or ``null`` if there is none or this is not an array.
  ///
  /// - Parameter index: The index of the element, from 0.
  public subscript(index: Int) -> JSONValue {
    if case .array(let elements) = self, elements.indices.contains(index) { elements[index] } else { .null }
  }

  /// Whether this is `null`.
  public var isNull: Bool { self == .null }

  /// The string, or `nil` if this is not a string.
  public var string: String? { if case .string(let value) = self { value } else { nil } }

  /// The Boolean value, or `nil` if this is not a Boolean.
  public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

  /// The number as an integer, or `nil` if this is not a number or has a fraction.
  public var int: Int? {
    switch self {
    case .integer(let value): value
    case .number(let value): Int(exactly: value)
    default: nil
    }
  }

  /// The number, or `nil` if this is not a number; an integer beyond 2^53 is rounded.
  public var double: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value): value
    default: nil
    }
  }

  /// The elements, or `nil` if this is not an array.
  public var array: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }

  /// The members, or `nil` if this is not an object.
  public var object: [String: JSONValue]? { if case .object(let members) = self { members } else { nil } }
}

extension JSONValue: Hashable {
  /// Whether two values are equal; 1 equals 1.0.
  ///
  /// - Parameters:
  ///   - left: A value.
  ///   - right: Another value.
  /// - Returns: Whether they are equal.
  public static func == (left: JSONValue, right: JSONValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let left), .bool(let right)): left == right
    case (.integer(let left), .integer(let right)): left == right
    case (.number(let left), .number(let right)): left == right
    case (.integer(let integer), .number(let number)), (.number(let number), .integer(let integer)):
      Int(exactly: number) == integer
    case (.string(let left), .string(let right)): left == right
    case (.array(let left), .array(let right)): left == right
    case (.object(let left), .object(let right)): left == right
    default: false
    }
  }

  /// Hashes the value.
  ///
  /// - Parameter hasher: The hasher.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .bool(let value): hasher.combine(value)
    case .integer(let value): hasher.combine(value)
    case .number(let value):
      if let integer = Int(exactly: value) { hasher.combine(integer) } else { hasher.combine(value) }
    case .string(let value): hasher.combine(value)
    case .array(let elements): hasher.combine(elements)
    case .object(let members): hasher.combine(members)
    }
  }
}

extension JSONValue: Codable {
  private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// Decodes any JSON value, for a member of a `Decodable` type.
  ///
  /// - Parameter decoder: The decoder.
  /// - Throws: `DecodingError` for a number that is too large, and for nesting deeper than 64 levels.
  public init(from decoder: any Decoder) throws {
    guard decoder.codingPath.count < 64 else {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "nesting is deeper than 64 levels"))
    }
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int.self) {
      self = .integer(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if var elements = try? decoder.unkeyedContainer() {
      var values: [JSONValue] = []
      while !elements.isAtEnd { values.append(try elements.decodeNil() ? .null : elements.decode(JSONValue.self)) }
      self = .array(values)
    } else {
      let members = try decoder.container(keyedBy: Name.self)
      var values: [String: JSONValue] = [:]
      for name in members.allKeys {
        values[name.stringValue] =
          try members.decodeNil(forKey: name) ? .null : members.decode(JSONValue.self, forKey: name)
      }
      self = .object(values)
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

extension JSONValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
  ExpressibleByDictionaryLiteral
{
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

  /// Makes an object; if several members have the same name, the last one is used.
  ///
  /// - Parameter elements: The members.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(Dictionary(elements) { $1 })
  }
}

extension HTTPBody {
  /// A JSON value written as a literal, such as `.json(["name": "Ada", "age": 36])`.
  ///
  /// Of the client's encoder only `outputFormatting` is used: the names are those of the document already.
  ///
  /// - Parameter value: The value; if it cannot be encoded, sending throws ``HTTPError/Kind/invalidRequest``.
  /// - Returns: The body.
  public static func json(_ value: JSONValue) -> HTTPBody {
    HTTPBody(.json(DeferredJSON(value)), contentType: "application/json")
  }
}
