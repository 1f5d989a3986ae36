/// A JSON value to write, with the members of its objects in order.
enum HARNode {
  /// A number or a Boolean value.
  case literal(String)
  case text(String)
  case array([HARNode])
  case object([(name: String, value: HARNode)])

  static func text(_ value: String?) -> HARNode? { value.map { .text($0) } }

  static func number(_ value: some BinaryInteger) -> HARNode { .literal("\(Int(clamping: value))") }

  /// Milliseconds with three decimals, or -1.
  static func milliseconds(_ value: Duration?) -> HARNode {
    guard let value else { return number(-1) }
    let microseconds = value.wholeMicroseconds
    let part = abs(microseconds % 1000)
    guard part > 0 else { return number(microseconds / 1000) }
    return .literal("\(microseconds / 1000).\(part < 100 ? "0" : "")\(part < 10 ? "0" : "")\(part)")
  }

  /// An object without the members whose value is `nil`.
  static func members(_ members: [(name: String, value: HARNode?)]) -> HARNode {
    .object(members.compactMap { name, value in value.map { (name, $0) } })
  }

  /// An array of objects with a name and a value.
  static func pairs(_ pairs: some Sequence<(name: String, value: String)>) -> HARNode {
    .array(pairs.map { name, value in .object([("name", .text(name)), ("value", .text(value))]) })
  }

  /// Appends the JSON text of the value (RFC 8259), on one line.
  func append(to text: inout [UInt8]) {
    switch self {
    case .literal(let literal): text += literal.utf8
    case .text(let string): Self.append(string, to: &text)
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
    string.withUTF8 { octets in
      var start = 0
      for (index, octet) in octets.enumerated() {
        guard let escape = escape(octet) else { continue }
        text += octets[start..<index]
        text += escape.utf8
        start = index + 1
      }
      text += octets[start...]
    }
    text.append(UInt8(ascii: "\""))
  }

  /// The escape of an octet (RFC 8259 §7), or `nil` if the octet is written unchanged.
  private static func escape(_ octet: UInt8) -> String? {
    switch octet {
    case UInt8(ascii: "\""): "\\\""
    case UInt8(ascii: "\\"): "\\\\"
    case 0x20...: nil
    case UInt8(ascii: "\n"): "\\n"
    case UInt8(ascii: "\r"): "\\r"
    case UInt8(ascii: "\t"): "\\t"
    default: "\\u00\(octet < 0x10 ? "0" : "")\(String(octet, radix: 16))"
    }
  }
}

extension Duration {
  var wholeMicroseconds: Int64 { Int64(clamping: Int128(self / .microseconds(1))) }
}
