/// A set of ASCII characters with a membership test of two instructions.
package struct ASCIISet: Sendable {
  private var low: UInt64 = 0
  private var high: UInt64 = 0

  init(_ members: String) {
    for byte in members.utf8 {
      switch byte {
      case 0..<64: low |= 1 << UInt64(byte)
      case 64..<128: high |= 1 << UInt64(byte - 64)
      default: break
      }
    }
  }

  func contains(_ byte: UInt8) -> Bool {
    switch byte {
    case 0..<64: low & (1 << UInt64(byte)) != 0
    case 64..<128: high & (1 << UInt64(byte - 64)) != 0
    default: false
    }
  }

  static let alphanumerics = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
  private static let unreservedMembers = alphanumerics + "-._~"
  private static let subDelimiters = "!$&'()*+,;="

  /// The unreserved characters (RFC 3986 §2.3), which are never delimiters.
  package static let unreserved = ASCIISet(unreservedMembers)
  package static let unreservedAndSlash = ASCIISet(unreservedMembers + "/")
  static let path = ASCIISet(unreservedMembers + subDelimiters + ":@/")
  /// The characters allowed in a query or a fragment (RFC 3986 §3.4, §3.5).
  static let query = ASCIISet(unreservedMembers + subDelimiters + ":@/?")
  static let userinfo = ASCIISet(unreservedMembers + subDelimiters)
  static let host = ASCIISet(alphanumerics + "-._")
  static let scheme = ASCIISet(alphanumerics + "+-.")
  /// The characters that the form serializer of the WHATWG URL standard does not encode.
  static let form = ASCIISet(alphanumerics + "*-._")
  /// The characters of base64 and base64url (RFC 9110 §11.2), without the padding.
  static let token68 = ASCIISet(unreservedMembers + "+/")
  /// The characters of a boundary between the parts of a form (RFC 2046 §5.1.1).
  static let boundary = ASCIISet(alphanumerics + "'()+_,-./:=? ")
  /// The delimiters in the `Expires` attribute of a cookie (RFC 6265bis §5.1.1).
  static let cookieDateDelimiters = ASCIISet("\t !\"#$%&'()*+,-./;<=>?@[\\]^_`{|}~")
  /// The characters that all parsers read in the same way at their position in a URL.
  static let plain = ASCIISet(unreservedMembers + "/:?=&%+")
}

/// Percent-encoding (RFC 3986 §2.1), on bytes and never on `Character`s.
///
/// A `Character` may hide a delimiter: CR LF is one `Character`, and so is `/` with a combining accent.
package enum PercentEncoding {
  /// Encodes every byte that is not in a set, `%` included.
  package static func encode(
    _ bytes: some Sequence<UInt8>, keeping kept: ASCIISet, spaceAsPlus: Bool = false
  ) -> String {
    var result: [UInt8] = []
    result.reserveCapacity(bytes.underestimatedCount)
    for byte in bytes {
      if kept.contains(byte) {
        result.append(byte)
      } else if spaceAsPlus, byte == UInt8(ascii: " ") {
        result.append(UInt8(ascii: "+"))
      } else {
        appendTriplet(byte, to: &result)
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// Encodes characters that are not allowed; keeps valid triplets.
  ///
  /// A `%` that does not begin a triplet becomes `%25`, so the function is idempotent.
  static func repair(_ bytes: ArraySlice<UInt8>, keeping kept: ASCIISet) -> String {
    guard bytes.contains(where: { !kept.contains($0) }) else { return String(decoding: bytes, as: UTF8.self) }
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count + 8)
    for index in bytes.indices {
      let byte = bytes[index]
      if kept.contains(byte) || (byte == UInt8(ascii: "%") && triplet(at: index, in: bytes) != nil) {
        result.append(byte)
      } else {
        appendTriplet(byte, to: &result)
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// Decodes triplets; keeps a `%` that does not begin one.
  package static func decode(_ bytes: ArraySlice<UInt8>, plusAsSpace: Bool = false) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var index = bytes.startIndex
    while index < bytes.endIndex {
      let byte = bytes[index]
      if byte == UInt8(ascii: "%"), let decoded = triplet(at: index, in: bytes) {
        result.append(decoded)
        index += 3
      } else {
        result.append(plusAsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
        index += 1
      }
    }
    return result
  }

  /// Decodes triplets; `nil` if a `%` does not begin one, or another byte is illegal.
  static func decode(_ bytes: ArraySlice<UInt8>, allowing isLegal: (UInt8) -> Bool) -> [UInt8]? {
    let isWellFormed = bytes.indices.allSatisfy { index in
      bytes[index] == UInt8(ascii: "%") ? triplet(at: index, in: bytes) != nil : isLegal(bytes[index])
    }
    return isWellFormed ? decode(bytes) : nil
  }

  /// The byte that a `%` at `index` and the next two digits encode.
  static func triplet(at index: Int, in bytes: ArraySlice<UInt8>) -> UInt8? {
    guard bytes.endIndex - index > 2,
      let high = hexValue(bytes[index + 1]),
      let low = hexValue(bytes[index + 2])
    else { return nil }
    return high << 4 | low
  }

  static func hexValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  private static func appendTriplet(_ byte: UInt8, to result: inout [UInt8]) {
    result.append(UInt8(ascii: "%"))
    result.append(hexDigit(byte >> 4))
    result.append(hexDigit(byte & 15))
  }

  private static func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
  }
}
