import MartletBase

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
  /// Any other number up to the range of `Double`.
  case number(Double)
  /// A number that neither `Int` nor `Double` can hold, as it was written: an integer beyond `Int`, or `1e400`.
  ///
  /// Its digits are sent unchanged, if there are at most 38 and the number is below 10^127.
  case digits(String)
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

  /// The number as an unsigned integer, or `nil` if this is not a number, is negative, too large or has a fraction.
  public var unsigned: UInt64? {
    switch self {
    case .integer(let value): UInt64(exactly: value)
    case .number(let value): UInt64(exactly: value)
    case .digits(let digits): UInt64(digits)
    default: nil
    }
  }

  /// The number, or `nil` if this is not a number or out of range; an integer beyond 2^53 is rounded.
  public var double: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value): value
    case .digits(let digits): Double(digits).flatMap { $0.isFinite ? $0 : nil }
    default: nil
    }
  }

  /// The elements, or `nil` if this is not an array.
  public var array: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }

  /// The members, or `nil` if this is not an object.
  public var object: [String: JSONValue]? { if case .object(let members) = self { members } else { nil } }
}

extension JSONValue: Hashable {
  /// Whether two values are equal; 1 equals 1.0, and ``digits(_:)`` are compared as written.
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
    case (.digits(let left), .digits(let right)): left == right
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
    case .string(let value), .digits(let value): hasher.combine(value)
    case .array(let elements): hasher.combine(elements)
    case .object(let members): hasher.combine(members)
    }
  }
}

extension JSONValue: Codable {
  /// Decodes any JSON value, for a member of a `Decodable` type.
  ///
  /// When this library decodes a response, a line or an event, the value takes time in proportion to its length. With a
  /// `JSONDecoder` that you call, it may take several errors for each value to find its type, each of which contains
  /// the whole coding path: do not decode untrusted text in this way.
  ///
  /// - Parameter decoder: The decoder.
  /// - Throws: `DecodingError` for a value more than 64 levels deep. With a `JSONDecoder` that you call, even for a
  ///   value whose own parts are that deep in the document.
  public init(from decoder: any Decoder) throws {
    if let value = try JSONDocument.current?.value(for: decoder) {
      self = value
    } else {
      self = try JSONProbe.value(of: decoder)
    }
  }

  /// Encodes the value.
  ///
  /// - Parameter encoder: The encoder.
  /// - Throws: `EncodingError` for a number that is not finite, and for ``digits(_:)`` that the encoder cannot keep.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .digits(let digits): try encode(digits, to: &container)
    case .string(let value): try container.encode(value)
    case .array(let elements): try container.encode(elements)
    case .object(let members): try container.encode(members)
    }
  }

  private func encode(_ digits: String, to container: inout any SingleValueEncodingContainer) throws {
    if let value = UInt64(digits) { return try container.encode(value) }
    // A decimal keeps 38 digits and rounds others.
    let significant = digits.utf8.drop { $0 == UInt8(ascii: "-") }
    guard significant.count <= 38, significant.allSatisfy({ 0x30...0x39 ~= $0 }), let value = Decimal(string: digits)
    else {
      let message = "the number has more digits than an encoder keeps, or is out of range"
      throw EncodingError.invalidValue(
        self, EncodingError.Context(codingPath: container.codingPath, debugDescription: message))
    }
    try container.encode(value)
  }
}

extension JSONValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
  ExpressibleByDictionaryLiteral
{
  /// Creates a Boolean value.
  ///
  /// - Parameter value: The value.
  public init(booleanLiteral value: Bool) { self = .bool(value) }

  /// Creates an integer.
  ///
  /// - Parameter value: The value.
  public init(integerLiteral value: Int) { self = .integer(value) }

  /// Creates a number.
  ///
  /// - Parameter value: The value.
  public init(floatLiteral value: Double) { self = .number(value) }

  /// Creates a string.
  ///
  /// - Parameter value: The value.
  public init(stringLiteral value: String) { self = .string(value) }

  /// Creates an array.
  ///
  /// - Parameter elements: The elements.
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

  /// Creates an object; if several members have the same name, the last one is used.
  ///
  /// - Parameter elements: The members.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(Dictionary(elements) { $1 })
  }
}
