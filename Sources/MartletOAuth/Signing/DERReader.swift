import MartletBase

/// Reads the elements of a DER encoding (X.690), one after the other.
struct DERReader {
  enum Tag: UInt8 {
    case integer = 0x02
    case bitString = 0x03
    case octetString = 0x04
    case identifier = 0x06
    case sequence = 0x30
  }

  private var rest: ArraySlice<UInt8>

  init(_ octets: some Sequence<UInt8>) { rest = ArraySlice(octets) }

  var isAtEnd: Bool { rest.isEmpty }

  /// The content of the next element; `nil` if it has another tag, is truncated, or is not DER.
  mutating func next(_ tag: Tag) -> ArraySlice<UInt8>? {
    guard rest.first == tag.rawValue, let first = rest.dropFirst().first else { return nil }
    var content = rest.dropFirst(2)
    var length = Int(first)
    if first >= 0x80 {
      let count = Int(first) - 0x80
      guard 1...3 ~= count, content.count >= count else { return nil }
      length = content.prefix(count).reduce(0) { $0 << 8 | Int($1) }
      // The shortest form is required.
      guard length >= (count == 1 ? 0x80 : 1 << (8 * (count - 1))) else { return nil }
      content = content.dropFirst(count)
    }
    guard content.count >= length else { return nil }
    rest = content.dropFirst(length)
    return content.prefix(length)
  }

  /// The octets of a positive integer without leading zeros; `nil` if it is negative or not minimal.
  mutating func positive() -> ArraySlice<UInt8>? {
    guard let octets = next(.integer), let first = octets.first else { return nil }
    guard first == 0 else { return first < 0x80 ? octets : nil }
    guard let second = octets.dropFirst().first, second >= 0x80 else { return nil }
    return octets.dropFirst()
  }
}

/// ECDSA signatures in the form of JWS: r and s, each with the curve's length (RFC 7518 §3.4).
enum ECDSASignature {
  /// Converts a DER signature; `nil` if it is not one of this length.
  static func fixed(_ der: some Sequence<UInt8>, length: Int = 32) -> [UInt8]? {
    var outer = DERReader(der)
    guard let sequence = outer.next(.sequence), outer.isAtEnd else { return nil }
    var inner = DERReader(sequence)
    guard let r = inner.positive(), let s = inner.positive(), inner.isAtEnd, r.count <= length, s.count <= length
    else { return nil }
    return [r, s].flatMap { [UInt8](repeating: 0, count: length - $0.count) + $0 }
  }
}
