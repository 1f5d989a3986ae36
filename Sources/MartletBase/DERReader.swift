/// Reads DER elements one after another, strictly.
///
/// A length must be definite, in its shortest form, and within the bytes (X.690 §10.1). Nested elements are read only by
/// another reader, so the depth of the input does not matter.
package struct DERReader {
  /// The tags of certificates and keys, each one octet.
  package enum Tag: UInt8 {
    case integer = 0x02
    case bitString = 0x03
    case octetString = 0x04
    case objectIdentifier = 0x06
    case sequence = 0x30
    /// In a certificate: `[0]` and `[3]`, constructed; `[1]` and `[2]`, primitive.
    case version = 0xA0
    case issuerID = 0x81
    case subjectID = 0x82
    case extensions = 0xA3
  }

  package struct Element {
    /// The element with its tag and length.
    package let whole: ArraySlice<UInt8>
    package let content: ArraySlice<UInt8>
  }

  private var rest: ArraySlice<UInt8>

  package init(_ bytes: some Sequence<UInt8>) { rest = ArraySlice(bytes) }

  package var isAtEnd: Bool { rest.isEmpty }

  package func isNext(_ tag: Tag) -> Bool { rest.first == tag.rawValue }

  /// Reads the next element; `nil` if it has another tag or is malformed.
  package mutating func read(_ tag: Tag) -> Element? {
    guard isNext(tag) else { return nil }
    var body = rest.dropFirst()
    guard let length = Self.length(&body), length <= body.count else { return nil }
    let content = body.prefix(length)
    defer { rest = rest[content.endIndex...] }
    return Element(whole: rest[..<content.endIndex], content: content)
  }

  /// The content of the next element; `nil` if it has another tag or is malformed.
  package mutating func next(_ tag: Tag) -> ArraySlice<UInt8>? { read(tag)?.content }

  /// The octets of a positive integer without leading zeros; `nil` if it is negative or not minimal.
  package mutating func positive() -> ArraySlice<UInt8>? {
    guard let octets = next(.integer), let first = octets.first else { return nil }
    guard first == 0 else { return first < 0x80 ? octets : nil }
    guard let second = octets.dropFirst().first, second >= 0x80 else { return nil }
    return octets.dropFirst()
  }

  /// Reads an optional element; returns `false` if it is malformed.
  package mutating func skip(_ tag: Tag) -> Bool { !isNext(tag) || read(tag) != nil }

  private static func length(_ bytes: inout ArraySlice<UInt8>) -> Int? {
    guard let first = bytes.popFirst() else { return nil }
    if first < 0x80 { return Int(first) }
    // Three octets suffice for certificates and keys, and fit into 32 bits.
    let count = Int(first & 0x7F)
    guard (1...3).contains(count), bytes.count >= count, bytes.first != 0 else { return nil }
    let length = bytes.prefix(count).reduce(0) { $0 << 8 | Int($1) }
    bytes = bytes.dropFirst(count)
    return length >= 0x80 ? length : nil
  }
}
