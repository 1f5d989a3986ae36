/// Writes a JSON text (RFC 8259) into bytes.
///
/// For files with many entries: an encoder would first build a tree of each.
package struct JSONText {
  package private(set) var bytes: [UInt8] = []
  private var needsComma = false

  private static let digits = Array("0123456789abcdef".utf8)

  package init() {}

  /// Removes the text, and keeps its memory.
  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    needsComma = false
  }

  /// Begins a line, between the elements of an array.
  mutating func breakLine() {
    separate()
    append("\n")
    needsComma = false
  }

  mutating func object(_ write: (inout JSONText) -> Void) { enclose("{", "}", write) }

  package mutating func array<Elements: Sequence>(
    _ elements: Elements, _ write: (Elements.Element, inout JSONText) -> Void
  ) {
    enclose("[", "]") { text in for element in elements { write(element, &text) } }
  }

  /// Writes the name of a member; its value is written next.
  mutating func name(_ name: StaticString) {
    separate()
    append("\"")
    append(name)
    append("\":")
    needsComma = false
  }

  mutating func object(_ name: StaticString, _ write: (inout JSONText) -> Void) {
    self.name(name)
    object(write)
  }

  mutating func array<Elements: Sequence>(
    _ name: StaticString, _ elements: Elements, _ write: (Elements.Element, inout JSONText) -> Void
  ) {
    self.name(name)
    array(elements, write)
  }

  /// Writes a member whose value is an array of objects with a name and a value.
  mutating func pairs(_ name: StaticString, _ pairs: some Sequence<(name: String, value: String)>) {
    array(name, pairs) { pair, text in
      text.object { text in
        text.member("name", pair.name)
        text.member("value", pair.value)
      }
    }
  }

  mutating func member(_ name: StaticString, _ value: String) {
    self.name(name)
    string(value)
  }

  mutating func member(_ name: StaticString, _ value: Int64) {
    self.name(name)
    number("\(value)")
  }

  mutating func member(_ name: StaticString, _ value: Bool) {
    self.name(name)
    number(value ? "true" : "false")
  }

  /// Writes milliseconds with three decimals, or -1.
  mutating func member(_ name: StaticString, _ value: Duration?) {
    self.name(name)
    guard let value else { return number("-1") }
    let microseconds = value.wholeMicroseconds
    let (whole, part) = (microseconds / 1000, abs(microseconds % 1000))
    number(part == 0 ? "\(whole)" : "\(whole).\(part < 100 ? "0" : "")\(part < 10 ? "0" : "")\(part)")
  }

  mutating func string(_ value: String) {
    separate()
    append("\"")
    var value = value
    value.withUTF8 { octets in
      var start = 0
      for index in octets.indices where octets[index] < 0x20 || octets[index] == 0x22 || octets[index] == 0x5C {
        bytes += octets[start..<index]
        escape(octets[index])
        start = index + 1
      }
      bytes += octets[start...]
    }
    append("\"")
  }

  private mutating func escape(_ octet: UInt8) {
    switch octet {
    case 0x0A: append("\\n")
    case 0x0D: append("\\r")
    case 0x09: append("\\t")
    case 0..<0x20:
      append("\\u00")
      bytes += [Self.digits[Int(octet >> 4)], Self.digits[Int(octet & 15)]]
    default: bytes += [0x5C, octet]
    }
  }

  private mutating func number(_ text: String) {
    separate()
    bytes += text.utf8
  }

  private mutating func separate() {
    if needsComma { append(",") }
    needsComma = true
  }

  private mutating func enclose(_ open: StaticString, _ close: StaticString, _ write: (inout JSONText) -> Void) {
    separate()
    append(open)
    needsComma = false
    write(&self)
    append(close)
    needsComma = true
  }

  private mutating func append(_ text: StaticString) {
    text.withUTF8Buffer { bytes += $0 }
  }
}

extension Duration {
  var wholeMicroseconds: Int64 { Int64(clamping: Int128(self / .microseconds(1))) }
}
