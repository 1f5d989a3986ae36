import Foundation

extension TextDecoding {
  /// The legacy encoding for a lower-case label of the WHATWG Encoding standard (§4.2).
  ///
  /// The numbers are those of `CFStringEncodings`. As in that standard, EUC-KR includes code page 949, and Big5
  /// includes the Hong Kong supplement.
  static func legacyEncoding(named label: String) -> TextEncoding? {
    // "iso_8859-2:1987" is "iso_8859-2".
    let parts = label.split(separator: ":", omittingEmptySubsequences: false)
    let isDated = parts.count == 2 && parts[0].hasPrefix("iso_8859-") && ["1987", "1988", "1989"].contains(parts[1])
    if let part = isoPart(isDated ? String(parts[0]) : label) {
      return .foundation("ISO-8859-\(part)", coreFoundation: 0x0200 + UInt(part))
    }
    if let (page, number) = windowsPage(label) { return .foundation("windows-\(page)", coreFoundation: number) }
    return switch label {
    case "koi8-r", "koi8_r", "koi8", "koi", "cskoi8r": .foundation("KOI8-R", coreFoundation: 0x0A02)
    case "koi8-u", "koi8-ru": .foundation("KOI8-U", coreFoundation: 0x0A08)
    case "ibm866", "cp866", "866", "csibm866": .foundation("IBM866", coreFoundation: 0x041B)
    case "windows-874", "dos-874", "tis-620": .foundation("windows-874", coreFoundation: 0x041D)
    case "macintosh", "mac", "x-mac-roman", "csmacintosh": .foundation("macintosh", coreFoundation: 0)
    case "x-mac-cyrillic", "x-mac-ukrainian": .foundation("x-mac-cyrillic", coreFoundation: 7)
    case "big5", "big5-hkscs", "cn-big5", "csbig5", "x-x-big5": .foundation("Big5", coreFoundation: 0x0A06)
    case "chinese", "csgb2312", "csiso58gb231280", "gb_2312", "gb_2312-80", "iso-ir-58":
      .foundation("GB2312", coreFoundation: 0x0632)
    case "x-gbk": .foundation("GBK", coreFoundation: 0x0632)
    case "csshiftjis", "ms932": .foundation("Shift_JIS", .shiftJIS)
    case "cseucpkdfmtjapanese": .japaneseEUC
    case "cp819", "csisolatin1", "ibm819", "iso-ir-100", "iso88591", "iso_8859-1:1987": .latin1
    case "unicode-1-1-utf-8", "unicode11utf8", "unicode20utf8", "x-unicode20utf8": .utf8
    case "csunicode", "iso-10646-ucs-2", "ucs-2", "unicode", "unicodefeff": .unicode
    case "unicodefffe": .utf16BigEndian
    case "euc-kr", "cseuckr", "csksc56011987", "iso-ir-149", "korean", "ks_c_5601-1987", "ks_c_5601-1989", "ksc5601",
      "ksc_5601", "windows-949", "cp949":
      .foundation("EUC-KR", coreFoundation: 0x0422)
    case "iso-2022-jp", "csiso2022jp": .foundation("ISO-2022-JP", coreFoundation: 0x0820)
    default: nil
    }
  }

  /// The part number of an ISO 8859 label, from 2.
  private static func isoPart(_ label: String) -> Int? {
    switch label {
    case "latin2", "l2", "csisolatin2", "iso-ir-101": return 2
    case "latin3", "l3", "csisolatin3", "iso-ir-109": return 3
    case "latin4", "l4", "csisolatin4", "iso-ir-110": return 4
    case "cyrillic", "csisolatincyrillic", "iso-ir-144": return 5
    case "arabic", "csisolatinarabic", "asmo-708", "ecma-114", "iso-ir-127", "iso-8859-6-e", "iso-8859-6-i",
      "csiso88596e", "csiso88596i":
      return 6
    case "greek", "greek8", "csisolatingreek", "ecma-118", "elot_928", "iso-ir-126", "sun_eu_greek": return 7
    // Text in visual order and in logical order has the same characters.
    case "hebrew", "visual", "csisolatinhebrew", "iso-ir-138", "iso-8859-8-e", "csiso88598e", "logical",
      "iso-8859-8-i", "csiso88598i":
      return 8
    case "latin5", "l5", "csisolatin5", "iso-ir-148": return 9
    case "latin6", "l6", "csisolatin6", "iso-ir-157": return 10
    case "latin9", "latin-9", "l9", "csisolatin9": return 15
    default:
      let prefix = ["iso-8859-", "iso_8859-", "iso8859-", "iso8859"].first { label.hasPrefix($0) }
      return prefix.flatMap { prefix in
        [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16].first { label == "\(prefix)\($0)" }
      }
    }
  }

  /// A code page of Windows and its number in Core Foundation.
  private static func windowsPage(_ label: String) -> (page: Int, number: UInt)? {
    let numbers: [UInt] = [0x0501, 0x0502, 0x0500, 0x0503, 0x0504, 0x0505, 0x0506, 0x0507, 0x0508]
    guard ["windows-125", "cp125", "x-cp125"].contains(String(label.dropLast())), let digit = Int(label.suffix(1)),
      numbers.indices.contains(digit)
    else { return nil }
    return (1250 + digit, numbers[digit])
  }
}
