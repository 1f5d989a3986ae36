extension JSONNode {
  static func text(_ value: String?) -> JSONNode? { value.map { .scalar(.string($0)) } }

  static func number(_ value: some BinaryInteger) -> JSONNode { .scalar(.integer(Int(clamping: value))) }

  /// Milliseconds with three decimals, or -1.
  static func milliseconds(_ value: Duration?) -> JSONNode {
    guard let value else { return number(-1) }
    let microseconds = value.wholeMicroseconds
    let part = abs(microseconds % 1000)
    guard part > 0 else { return number(microseconds / 1000) }
    return .scalar(.digits("\(microseconds / 1000).\(part < 100 ? "0" : "")\(part < 10 ? "0" : "")\(part)"))
  }

  /// An object without the members that have no value.
  static func members(_ members: [(name: String, value: JSONNode?)]) -> JSONNode {
    .object(members.compactMap { name, value in value.map { (name, $0) } })
  }

  /// An array of objects with a name and a value.
  static func pairs(_ pairs: some Sequence<(name: String, value: String)>) -> JSONNode {
    .array(pairs.map { name, value in .members([("name", .text(name)), ("value", .text(value))]) })
  }

  /// Appends the JSON text of the value (RFC 8259), on one line.
  func append(to text: inout [UInt8]) {
    switch self {
    case .scalar(.string(let string)): Self.append(string, to: &text)
    case .scalar(let value): text += value.literal.utf8
    case .array(let elements):
      text.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        element.append(to: &text)
      }
      text.append(UInt8(ascii: "]"))
    case .object(let members):
      text.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        Self.append(member.name, to: &text)
        text.append(UInt8(ascii: ":"))
        member.value.append(to: &text)
      }
      text.append(UInt8(ascii: "}"))
    }
  }

  private static func append(_ string: String, to text: inout [UInt8]) {
    text.append(UInt8(ascii: "\""))
    var string = string
    string.withUTF8 { JSONEscape.append($0, to: &text) }
    text.append(UInt8(ascii: "\""))
  }
}

extension JSONValue {
  /// The text of a value that is neither a string, nor an array, nor an object.
  fileprivate var literal: String {
    switch self {
    case .bool(let value): "\(value)"
    case .integer(let value): "\(value)"
    case .number(let value): "\(value)"
    case .digits(let digits): digits
    case .null, .string, .array, .object: "null"
    }
  }
}

extension Duration {
  var wholeMicroseconds: Int64 { Int64(clamping: Int128(self / .microseconds(1))) }
}
