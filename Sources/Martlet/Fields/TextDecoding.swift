import MartletBase

/// Decodes bodies as text, even if the declared encoding is missing, unknown or wrong.
///
/// The first of these that works is used: the `charset` parameter, a byte order mark, UTF-8. In UTF-8, U+FFFD replaces
/// invalid octets. ISO-8859-1, which always works, is the fallback for bodies with another `charset` that cannot be
/// used.
enum TextDecoding {
  private typealias Decoded = (text: String, name: String)

  /// Decodes a decompressed body; the text has no byte order mark.
  ///
  /// For a truncated body, the incomplete last character is dropped. The note is one line about a `charset`, a byte order
  /// mark or octets that could not be used.
  static func decode(
    _ body: Data, contentType: MediaType?, isTruncated: Bool = false
  ) -> (text: String, encodingName: String, note: String?) {
    var problem: String?
    var isUTF8 = true
    if let charset = contentType?.charset {
      if let encoding = encoding(named: charset) {
        if let (text, name) = encoding.decode(body, isTruncated: isTruncated) { return (text, name, nil) }
        problem =
          encoding.isSupported
          ? "the body is not valid \(encoding.name)" : "this system cannot decode \(encoding.name)"
        isUTF8 = encoding == .utf8
      } else {
        problem = "unknown charset \(printable(charset))"
        isUTF8 = false
      }
    }
    let mark = byteOrderMark(of: body)
    if let mark {
      if let decoded = mark.encoding.decode(body, isTruncated: isTruncated) { return noted(decoded, problem) }
      problem = problem ?? "the body starts with a \(mark.encoding.name) byte order mark but is not valid"
      isUTF8 = mark.encoding == .utf8
    } else if let decoded = TextEncoding.utf8.decode(body, isTruncated: isTruncated) {
      return noted(decoded, problem)
    }
    // Without the byte order mark, which would appear as garbage before the text.
    let octets = body.dropFirst(mark?.octets.count ?? 0)
    guard isUTF8 else { return noted((decodeLatin1(octets), TextEncoding.latin1.name), problem) }
    let text = String(decoding: isTruncated ? octets.withoutPartialCharacter : octets, as: UTF8.self)
    return (text, TextEncoding.utf8.name, "\(problem ?? "the body is not valid UTF-8"); U+FFFD replaces invalid octets")
  }

  private static func noted(_ decoded: Decoded, _ problem: String?) -> (String, encodingName: String, note: String?) {
    (decoded.text, decoded.name, problem.map { "\($0); decoded as \(decoded.name)" })
  }

  /// The charset for a message; the peer chooses it, so only a short token is quoted.
  private static func printable(_ charset: String) -> String {
    FieldSyntax.isToken(charset) && charset.utf8.count <= 40 ? "'\(charset)'" : "(unprintable)"
  }

  /// Decodes ISO-8859-1: each octet is the scalar with that number.
  static func decodeLatin1(_ body: some Collection<UInt8>) -> String {
    var octets: [UInt8] = []
    octets.reserveCapacity(body.count + body.count / 8)
    for octet in body {
      if octet < 0x80 {
        octets.append(octet)
      } else {
        octets.append(0xC0 | octet >> 6)
        octets.append(0x80 | octet & 0x3F)
      }
    }
    return String(decoding: octets, as: UTF8.self)
  }
}

enum TextEncoding: Equatable {
  /// `unicode` is UTF-16 by the names of UCS-2.
  case utf8, ascii, latin1, utf16, unicode, utf16LittleEndian, utf16BigEndian
  /// An encoding of ``SingleOctetCharset``, by its name.
  case singleOctet(String)
  case multiOctet(MultiOctetCharset)

  var name: String {
    switch self {
    case .utf8: "UTF-8"
    case .ascii: "US-ASCII"
    case .latin1: "ISO-8859-1"
    case .utf16, .unicode: "UTF-16"
    case .utf16LittleEndian: "UTF-16LE"
    case .utf16BigEndian: "UTF-16BE"
    case .singleOctet(let name): name
    case .multiOctet(let charset): charset.rawValue
    }
  }

  /// Whether the system can decode it.
  var isSupported: Bool { if case .multiOctet(let charset) = self { charset.isSupported } else { true } }

  /// Decodes a body like ``decode(_:)``; of a truncated one without its incomplete last character.
  func decode(_ body: Data, isTruncated: Bool) -> (text: String, name: String)? {
    guard isTruncated else { return decode(body) }
    if self == .utf8 { return decode(body.withoutPartialCharacter) }
    // A character of four octets can lack one to three.
    for count in 0...3 { if let decoded = decode(body.dropLast(count)) { return decoded } }
    return nil
  }

  /// Decodes a body, or returns `nil` if it is not valid in this encoding.
  ///
  /// The text has no byte order mark. The name is that of the encoding.
  func decode(_ body: Data) -> (text: String, name: String)? {
    let text: String?
    switch self {
    case .utf8:
      text = String(validating: byteOrderMark(of: body)?.encoding == .utf8 ? body.dropFirst(3) : body, as: UTF8.self)
    case .ascii: text = body.allSatisfy { $0 < 0x80 } ? String(decoding: body, as: UTF8.self) : nil
    case .latin1: text = TextDecoding.decodeLatin1(body)
    case .utf16LittleEndian: text = decodeUTF16(body, highOctet: 1)
    case .utf16BigEndian: text = decodeUTF16(body, highOctet: 0)
    case .utf16, .unicode:
      // Without a mark: big-endian by RFC 2781 §4.3, but little-endian for the names of UCS-2, as in the WHATWG
      // standard.
      let mark = byteOrderMark(of: body)?.encoding
      let isLittleEndian = mark == .utf16LittleEndian || mark != .utf16BigEndian && self == .unicode
      return (isLittleEndian ? TextEncoding.utf16LittleEndian : .utf16BigEndian).decode(body)
    case .singleOctet(let name): text = SingleOctetCharset.decode(body, name)
    case .multiOctet(let charset):
      text = charset.decode(body).map { text in
        text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
      }
    }
    return text.map { ($0, name) }
  }

  /// Decodes UTF-16; `highOctet` is the index of the more significant octet in a pair.
  private func decodeUTF16(_ body: Data, highOctet: Int) -> String? {
    guard body.count.isMultiple(of: 2) else { return nil }
    let octets = [UInt8](body)
    var units = stride(from: 0, to: octets.count, by: 2).map { start in
      UInt16(octets[start + highOctet]) << 8 | UInt16(octets[start + 1 - highOctet])
    }
    if units.first == 0xFEFF { units.removeFirst() }
    return String(validating: units, as: UTF16.self)
  }
}

/// The encodings that a byte order mark identifies, with their marks.
private let byteOrderMarks: [(encoding: TextEncoding, octets: [UInt8])] = [
  (.utf8, [0xEF, 0xBB, 0xBF]), (.utf16LittleEndian, [0xFF, 0xFE]), (.utf16BigEndian, [0xFE, 0xFF]),
]

private func byteOrderMark(of body: Data) -> (encoding: TextEncoding, octets: [UInt8])? {
  byteOrderMarks.first { body.starts(with: $0.octets) }
}
