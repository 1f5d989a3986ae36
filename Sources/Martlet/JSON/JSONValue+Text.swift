import MartletBase

extension JSONValue: CustomStringConvertible {
  /// The value as JSON text on one line (RFC 8259), with the members of objects sorted by name.
  ///
  /// It contains all values unmasked, so do not log secrets with it. A number that is not finite is written as `null`,
  /// because JSON lacks such numbers.
  public var description: String {
    var text: [UInt8] = []
    append(to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  private func append(to text: inout [UInt8]) {
    switch self {
    case .null: text += "null".utf8
    case .bool(let value): text += (value ? "true" : "false").utf8
    case .integer(let value): text += value.description.utf8
    case .number(let value): text += (value.isFinite ? value.description : "null").utf8
    case .digits(let digits): text += digits.utf8
    case .string(let value): Self.append(value, to: &text)
    case .array(let elements):
      text.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        element.append(to: &text)
      }
      text.append(UInt8(ascii: "]"))
    case .object(let members):
      text.append(UInt8(ascii: "{"))
      for (index, name) in members.keys.sorted().enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        Self.append(name, to: &text)
        text.append(UInt8(ascii: ":"))
        (members[name] ?? .null).append(to: &text)
      }
      text.append(UInt8(ascii: "}"))
    }
  }

  private static func append(_ string: String, to text: inout [UInt8]) {
    text.append(UInt8(ascii: "\""))
    JSONEscape.append(string.utf8, to: &text)
    text.append(UInt8(ascii: "\""))
  }
}

extension RequestTarget.StringInterpolation {
  /// Adds the content of a JSON string, number or Boolean, escaped for its position.
  ///
  /// - Parameter value: The value; `null`, an array or an object makes the target invalid.
  public mutating func appendInterpolation(_ value: JSONValue) {
    switch value {
    case .string(let text): append(text, keeping: .unreserved)
    case .bool, .integer, .number, .digits: append(value.description, keeping: .unreserved)
    case .null, .array, .object:
      refuse("a JSON null, array or object was interpolated: interpolate a string, a number or a Boolean of it")
    }
  }
}
