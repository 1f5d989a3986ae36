#if canImport(Darwin) || URLSession
  import Foundation
#endif
import MartletBase

/// Encodings whose characters occupy different numbers of octets.
///
/// Foundation decodes them if the program has it; otherwise `iconv` of the C library does, which may lack some.
enum MultiOctetCharset: String {
  case shiftJIS = "Shift_JIS"
  case japaneseEUC = "EUC-JP"
  // GB 18030 contains the other two, and the decoder for GB 2312 alone skips unknown characters.
  case gb2312 = "GB2312"
  case gbk = "GBK"
  case gb18030 = "GB18030"
  case big5 = "Big5"
  case koreanEUC = "EUC-KR"
  case iso2022JP = "ISO-2022-JP"

  /// Decodes a body; returns `nil` if it is not valid, or if the system cannot decode the encoding.
  func decode(_ body: Data) -> String? {
    guard self != .japaneseEUC else { return Self.shiftJIS(fromEUC: body).flatMap { Self.shiftJIS.decode($0) } }
    #if canImport(Darwin) || URLSession
      return decodeWithFoundation(body)
    #else
      return decodeWithIconv(body)
    #endif
  }

  /// Whether the system can decode the encoding.
  var isSupported: Bool {
    #if canImport(Darwin) || URLSession
      true
    #else
      decodeWithIconv(Data()) != nil
    #endif
  }

  #if canImport(Darwin) || URLSession
    private func decodeWithFoundation(_ body: Data) -> String? {
      // As in the WHATWG standard, EUC-KR includes code page 949, and Big5 the Hong Kong supplement.
      let encoding: String.Encoding =
        switch self {
        case .shiftJIS, .japaneseEUC: .shiftJIS
        case .gb2312, .gbk, .gb18030: String.Encoding(rawValue: 0x8000_0632)
        case .big5: String.Encoding(rawValue: 0x8000_0A06)
        case .koreanEUC: String.Encoding(rawValue: 0x8000_0422)
        case .iso2022JP: .iso2022JP
        }
      guard let text = String(data: body, encoding: encoding) else { return nil }
      // For undecodable octets, Foundation inserts scalars of Apple's corporate use area.
      return text.unicodeScalars.contains { 0xF860...0xF8FE ~= $0.value } ? nil : text
    }
  #endif

  #if !canImport(Darwin)
    func decodeWithIconv(_ body: Data) -> String? {
      switch self {
      case .shiftJIS, .japaneseEUC: return Self.convert(body, from: "CP932")
      case .gb2312, .gbk, .gb18030: return Self.convert(Self.withEuro(body), from: "GB18030")
      case .koreanEUC: return Self.convert(body, from: "CP949")
      // The C library's own decoder lacks half of the characters in use.
      case .iso2022JP:
        let shiftJIS = Self.japaneseEUC(fromISO2022: body).flatMap { Self.shiftJIS(fromEUC: $0) }
        return shiftJIS.flatMap { Self.convert($0, from: "CP932") }
      case .big5:
        let text = Self.convert(body, from: "CP950")
        // Characters of Hong Kong are for private use there; with them, some signs differ.
        let isComplete = text?.unicodeScalars.contains { $0.properties.generalCategory == .privateUse } == false
        return isComplete ? text : Self.convert(body, from: "BIG5-HKSCS") ?? text
      }
    }

    private static func convert(_ body: Data, from name: String) -> String? {
      guard let converter = iconv_open("UTF-8", name), converter != iconv_t(bitPattern: -1) else { return nil }
      defer { iconv_close(converter) }
      var isValid = true
      // In UTF-8, no text has more than three times as many octets.
      let text = String(unsafeUninitializedCapacity: 3 * body.count) { output in
        let room = output.count
        let count: Int? = body.withUnsafeBytes { body in
          output.withMemoryRebound(to: CChar.self) { output in
            // iconv declares its input as mutable, but does not write to it.
            var from = UnsafeMutablePointer(mutating: body.bindMemory(to: CChar.self).baseAddress)
            var (to, unread, free) = (output.baseAddress, body.count, room)
            guard iconv(converter, &from, &unread, &to, &free) != -1, unread == 0,
              // Writes what iconv keeps in case a combining character follows.
              iconv(converter, nil, nil, &to, &free) != -1
            else { return nil }
            return room - free
          }
        }
        isValid = count != nil
        return count ?? 0
      }
      return isValid ? text : nil
    }

    /// Converts the euro sign of windows-936 to that of GB 18030.
    private static func withEuro(_ body: Data) -> Data {
      guard body.contains(0x80) else { return body }
      var result = Data(capacity: body.count)
      var rest = body[...]
      while let octet = rest.popFirst() {
        guard octet != 0x80 else {
          result += [0xA2, 0xE3]
          continue
        }
        result.append(octet)
        // Characters of four octets look like two of two.
        if octet > 0x80, let second = rest.popFirst() { result.append(second) }
      }
      return result
    }

    /// Converts ISO-2022-JP, with katakana of half width, to EUC-JP.
    private static func japaneseEUC(fromISO2022 body: Data) -> Data? {
      enum Set { case ascii, katakana, kanji }
      var (result, set, rest) = (Data(capacity: body.count), Set.ascii, body[...])
      while let octet = rest.popFirst() {
        switch octet {
        case 0x1B:
          switch (rest.popFirst(), rest.popFirst()) {
          case (UInt8(ascii: "("), UInt8(ascii: "B")), (UInt8(ascii: "("), UInt8(ascii: "J")): set = .ascii
          case (UInt8(ascii: "("), UInt8(ascii: "I")): set = .katakana
          case (UInt8(ascii: "$"), UInt8(ascii: "@")), (UInt8(ascii: "$"), UInt8(ascii: "B")): set = .kanji
          default: return nil
          }
        case 0x0A, 0x0D:
          set = .ascii
          result.append(octet)
        case 0x0E, 0x0F: return nil
        case 0x21...0x5F where set == .katakana: result += [0x8E, octet | 0x80]
        case 0x21...0x7E where set == .kanji:
          guard let second = rest.popFirst(), 0x21...0x7E ~= second else { return nil }
          result += [octet | 0x80, second | 0x80]
        case 0x00...0x7F where set == .ascii: result.append(octet)
        default: return nil
        }
      }
      return result
    }
  #endif

  /// Converts EUC-JP to Shift_JIS, because Foundation on Linux cannot decode EUC-JP.
  ///
  /// Both encode the 94 by 94 table of JIS X 0208. JIS X 0212, which occupies three octets in EUC-JP, has no place in
  /// Shift_JIS.
  private static func shiftJIS(fromEUC body: Data) -> Data? {
    var result = Data(capacity: body.count)
    var octets = body.makeIterator()
    while let first = octets.next() {
      switch first {
      case 0x00...0x7F: result.append(first)
      case 0x8E:
        guard let kana = octets.next(), 0xA1...0xDF ~= kana else { return nil }
        result.append(kana)
      case 0xA1...0xFE:
        guard let second = octets.next(), 0xA1...0xFE ~= second else { return nil }
        let (row, cell) = (first - 0xA1, second - 0xA1)
        result.append(row / 2 + (row < 62 ? 0x81 : 0xC1))
        let place = row.isMultiple(of: 2) ? cell + 0x40 : cell + 0x9F
        // 0x7F is not used as a second octet.
        result.append(row.isMultiple(of: 2) && place >= 0x7F ? place + 1 : place)
      default: return nil
      }
    }
    return result
  }
}
