import Foundation
import MartletBase
import TestSupport
import Testing

@testable import Martlet

@Suite struct TextDecodingTests {
  private func decode(_ octets: [UInt8], _ charset: String? = nil) -> (
    text: String, encodingName: String, note: String?
  ) {
    let parameters = charset.map { [MediaType.Parameter(name: "charset", value: $0)] } ?? []
    let type = MediaType(type: "text", subtype: "plain", parameters: parameters)
    return TextDecoding.decode(Data(octets), contentType: type)
  }

  @Test(
    arguments: [
      ("utf-8", [0x68, 0xC3, 0xA9], "hé", "UTF-8"), ("UTF8", [0xEF, 0xBB, 0xBF, 0x68], "h", "UTF-8"),
      ("us-ascii", [0x68, 0x69], "hi", "US-ASCII"), ("iso-8859-1", [0x68, 0xE9, 0x80], "hé\u{80}", "ISO-8859-1"),
      ("Latin1", [0xC3, 0xA9], "Ã©", "ISO-8859-1"), ("windows-1252", [0x80, 0x93, 0xE9], "€“é", "windows-1252"),
      ("iso-8859-15", [0xA4, 0xBC], "€Œ", "ISO-8859-15"), ("iso-8859-2", [0xA1, 0xB1, 0xE6], "Ąąć", "ISO-8859-2"),
      ("utf-16", [0x00, 0x68, 0x00, 0xE9], "hé", "UTF-16BE"), ("utf-16", [0xFE, 0xFF, 0x00, 0x68], "h", "UTF-16BE"),
      ("utf-16", [0xFF, 0xFE, 0x68, 0x00], "h", "UTF-16LE"), ("utf-16le", [0x68, 0x00], "h", "UTF-16LE"),
      ("utf-16le", [0xFF, 0xFE, 0x3D, 0xD8, 0x00, 0xDE], "😀", "UTF-16LE"), ("utf-16be", [0x65, 0xE5], "日", "UTF-16BE"),
      ("shift_jis", [0x93, 0xFA, 0x96, 0x7B, 0xB1], "日本ｱ", "Shift_JIS"),
      ("euc-jp", [0xC6, 0xFC, 0xCB, 0xDC, 0x8E, 0xB1, 0x61], "日本ｱa", "EUC-JP"),
      ("gb2312", [0xD6, 0xD0, 0xCE, 0xC4], "中文", "GB2312"), ("gbk", [0x81, 0x40], "丂", "GBK"),
      ("gb18030", [0x84, 0x31, 0x95, 0x33, 0xD6, 0xD0], "中", "GB18030"), ("utf-8", [], "", "UTF-8"),
      ("utf-16", [], "", "UTF-16BE"), ("shift_jis", [], "", "Shift_JIS"),
    ] as [(String, [UInt8], String, String)])
  func `follows the charset`(charset: String, octets: [UInt8], text: String, name: String) {
    let result = decode(octets, charset)

    #expect(Array(result.text.unicodeScalars) == Array(text.unicodeScalars))
    #expect(result.encodingName == name)
    #expect(result.note == nil)
  }

  @Test(
    arguments: [
      ("windows-1251", [0xCF, 0xF0, 0xE8], "При", "windows-1251"), ("CP1251", [0x98], "\u{98}", "windows-1251"),
      ("windows-1250", [0x8C], "Ś", "windows-1250"), ("windows-1253", [0xC1], "Α", "windows-1253"),
      ("windows-1254", [0xDD], "İ", "windows-1254"), ("windows-1255", [0xE0], "א", "windows-1255"),
      ("windows-1256", [0xC7], "ا", "windows-1256"), ("x-cp1257", [0xE0], "ą", "windows-1257"),
      ("windows-1258", [0xD0], "Đ", "windows-1258"), ("windows-874", [0xA1], "ก", "windows-874"),
      ("koi8-r", [0xF0, 0xD2, 0xC9], "При", "KOI8-R"), ("koi8-u", [0xA4], "є", "KOI8-U"),
      ("ibm866", [0x8F, 0xE0, 0xA8], "При", "IBM866"), ("macintosh", [0x8E, 0xF0], "é\u{F8FF}", "macintosh"),
      ("x-mac-cyrillic", [0x8F], "П", "x-mac-cyrillic"), ("iso-8859-3", [0xA1], "Ħ", "ISO-8859-3"),
      ("iso8859-4", [0xA1], "Ą", "ISO-8859-4"), ("iso-8859-5", [0xBF], "П", "ISO-8859-5"),
      ("arabic", [0xC7], "ا", "ISO-8859-6"), ("iso_8859-7", [0xC1], "Α", "ISO-8859-7"),
      ("iso-8859-8", [0xE0], "א", "ISO-8859-8"), ("latin5", [0xDD], "İ", "ISO-8859-9"),
      ("iso-8859-10", [0xA1], "Ą", "ISO-8859-10"), ("iso-8859-11", [0xA1], "ก", "ISO-8859-11"),
      ("iso-8859-13", [0xE0], "ą", "ISO-8859-13"), ("iso-8859-14", [0xA1], "Ḃ", "ISO-8859-14"),
      ("iso885916", [0xAA], "Ș", "ISO-8859-16"), ("big5", [0xA4, 0xA4, 0xA4, 0xE5, 0x61], "中文a", "Big5"),
      ("big5-hkscs", [0xFA, 0x40], "𠕇", "Big5"), ("euc-kr", [0xC7, 0xD1, 0x81, 0x41, 0x61], "한갂a", "EUC-KR"),
      ("ks_c_5601-1987", [0xC7, 0xD1], "한", "EUC-KR"),
      ("iso-2022-jp", [0x1B, 0x24, 0x42, 0x46, 0x7C, 0x1B, 0x28, 0x42, 0x61], "日a", "ISO-2022-JP"),
    ] as [(String, [UInt8], String, String)])
  func `decodes legacy encodings`(charset: String, octets: [UInt8], text: String, name: String) {
    `follows the charset`(charset: charset, octets: octets, text: text, name: name)
  }

  /// The labels of the WHATWG Encoding standard (§4.2), listed by Martlet's names.
  @Test(
    arguments: [
      ("UTF-8", "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8"),
      ("IBM866", "866 cp866 csibm866 ibm866"),
      (
        "ISO-8859-2",
        "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2"
      ),
      (
        "ISO-8859-3",
        "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3"
      ),
      (
        "ISO-8859-4",
        "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4"
      ),
      (
        "ISO-8859-5",
        "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988"
      ),
      (
        "ISO-8859-6",
        """
        arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e iso-8859-6-i iso-ir-127 \
        iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987
        """
      ),
      (
        "ISO-8859-7",
        """
        csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 iso_8859-7 \
        iso_8859-7:1987 sun_eu_greek
        """
      ),
      (
        "ISO-8859-8",
        """
        csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598 iso_8859-8 \
        iso_8859-8:1988 visual csiso88598i iso-8859-8-i logical
        """
      ),
      ("ISO-8859-10", "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6"),
      ("ISO-8859-13", "iso-8859-13 iso8859-13 iso885913"), ("ISO-8859-14", "iso-8859-14 iso8859-14 iso885914"),
      ("ISO-8859-15", "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9"), ("ISO-8859-16", "iso-8859-16"),
      ("KOI8-R", "cskoi8r koi koi8 koi8-r koi8_r"), ("KOI8-U", "koi8-ru koi8-u"),
      ("macintosh", "csmacintosh mac macintosh x-mac-roman"), ("x-mac-cyrillic", "x-mac-cyrillic x-mac-ukrainian"),
      ("windows-874", "dos-874 tis-620 windows-874"), ("ISO-8859-11", "iso-8859-11 iso8859-11 iso885911"),
      ("US-ASCII", "ansi_x3.4-1968 ascii us-ascii"),
      (
        "ISO-8859-1",
        "cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1"
      ),
      ("windows-1252", "cp1252 windows-1252 x-cp1252"), ("windows-1258", "cp1258 windows-1258 x-cp1258"),
      (
        "ISO-8859-9",
        "csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5"
      ),
      ("GB2312", "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 iso-ir-58"), ("GBK", "gbk x-gbk"),
      ("GB18030", "gb18030"), ("Big5", "big5 big5-hkscs cn-big5 csbig5 x-x-big5"),
      ("EUC-JP", "cseucpkdfmtjapanese euc-jp x-euc-jp"), ("ISO-2022-JP", "csiso2022jp iso-2022-jp"),
      ("Shift_JIS", "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis"),
      (
        "EUC-KR",
        """
        cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 windows-949
        """
      ),
      ("UTF-16BE", "unicodefffe utf-16be"),
      ("UTF-16LE", "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16le"),
    ])
  func `accepts all labels of an encoding`(name: String, labels: String) {
    for label in labels.split(separator: " ") {
      let result = decode([], String(label))

      #expect(result.encodingName == name && result.note == nil, "\(label): \(result.note ?? "")")
    }
  }

  @Test(arguments: [
    ([0xFE, 0xFF, 0, 0x68], "UTF-16BE"), ([0xFF, 0xFE, 0x68, 0], "UTF-16LE"), ([0x68, 0], "UTF-16LE"),
  ])
  func `follows the byte order mark for the label ucs-2`(octets: [UInt8], name: String) {
    let result = decode(octets, "ucs-2")

    #expect(result.text == "h" && result.encodingName == name)
  }

  @Test(arguments: ["iso_8859-2:1986", "iso-8859-2:1987", "iso_8859-2:", "iso-8859-12", "iso_8859-2:1987:1987"])
  func `rejects labels that only resemble known ones`(label: String) {
    #expect(decode([], label).note?.hasPrefix("unknown charset") == true)
  }

  @Test(
    arguments: [
      ("big5", [0x41, 0xFF], "Big5"), ("big5", [0x41, 0xA4], "Big5"), ("euc-kr", [0x41, 0xFF], "EUC-KR"),
      ("euc-kr", [0xC7, 0x20], "EUC-KR"), ("windows-1255", [0xD9], "windows-1255"),
      ("windows-874", [0xDB], "windows-874"), ("iso-2022-jp", [0x41, 0xFF], "ISO-2022-JP"),
    ] as [(String, [UInt8], String)])
  func `falls back to Latin-1 for octets that are invalid in the encoding`(
    charset: String, octets: [UInt8], name: String
  ) {
    let result = decode(octets, charset)

    #expect(result.note == "the body is not valid \(name); decoded as ISO-8859-1")
  }

  @Test(
    arguments: [
      ([], "", "UTF-8"), ([0x68, 0xC3, 0xA9], "hé", "UTF-8"),
      ([0xEF, 0xBB, 0xBF, 0xC3, 0xA9], "é", "UTF-8"), ([0xEF, 0xBB, 0xBF], "", "UTF-8"),
      ([0xFF, 0xFE, 0xE9, 0x00], "é", "UTF-16LE"), ([0xFE, 0xFF, 0x00, 0xE9], "é", "UTF-16BE"),
      ([0x00], "\0", "UTF-8"),
    ] as [([UInt8], String, String)])
  func `without a charset, tries a byte order mark and then UTF-8`(octets: [UInt8], text: String, name: String) {
    for result in [decode(octets), TextDecoding.decode(Data(octets), contentType: nil)] {
      #expect(Array(result.text.unicodeScalars) == Array(text.unicodeScalars))
      #expect(result.encodingName == name)
      #expect(result.note == nil)
    }
  }

  @Test(
    arguments: [
      ("x-foo", [0xC3, 0xA9], "é", "unknown charset 'x-foo'; decoded as UTF-8"),
      ("x-foo", [0xE9], "é", "unknown charset 'x-foo'; decoded as ISO-8859-1"),
      ("x-foo", [0xFF, 0xFE, 0xE9, 0x00], "é", "unknown charset 'x-foo'; decoded as UTF-16LE"),
      ("us-ascii", [0xC3, 0xA9], "é", "the body is not valid US-ASCII; decoded as UTF-8"),
      ("utf-16", [0x68, 0x69, 0x21], "hi!", "the body is not valid UTF-16; decoded as UTF-8"),
      ("utf-16le", [0x00, 0xD8], "\0Ø", "the body is not valid UTF-16LE; decoded as ISO-8859-1"),
      ("shift_jis", [0x41, 0x93], "A\u{93}", "the body is not valid Shift_JIS; decoded as ISO-8859-1"),
      ("euc-jp", [0x41, 0xC6], "AÆ", "the body is not valid EUC-JP; decoded as ISO-8859-1"),
      ("gbk", [0x41, 0xFF], "Aÿ", "the body is not valid GBK; decoded as ISO-8859-1"),
      ("a b\u{1B}[2J", [0x41], "A", "unknown charset (unprintable); decoded as UTF-8"), ("", [0x41], "A", nil),
    ] as [(String, [UInt8], String, String?)])
  func `explains the fallback if the charset cannot be used`(
    charset: String, octets: [UInt8], text: String, note: String?
  ) {
    let result = decode(octets, charset)

    #expect(result.text == text)
    #expect(result.note == note ?? "unknown charset (unprintable); decoded as UTF-8")
  }

  /// As in the WHATWG Encoding standard, because another charset would also change the valid characters.
  @Test(
    arguments: [
      ([0xC3, 0xBC, 0x20, 0xFF], "ü \u{FFFD}"), ([0x68, 0xE9], "h\u{FFFD}"), ([0xC0, 0x80], "\u{FFFD}\u{FFFD}"),
      ([0xED, 0xA0, 0x80], "\u{FFFD}\u{FFFD}\u{FFFD}"), ([0x61, 0xE2, 0x82], "a\u{FFFD}"),
    ] as [([UInt8], String)], ["utf-8", nil] as [String?])
  func `U+FFFD replaces invalid octets in UTF-8`(row: ([UInt8], String), charset: String?) {
    let result = decode(row.0, charset)

    #expect(result.text == row.1 && result.encodingName == "UTF-8")
    #expect(result.note == "the body is not valid UTF-8; U+FFFD replaces invalid octets")
  }

  @Test func `drops and reports a false byte order mark`() {
    let result = decode([0xEF, 0xBB, 0xBF, 0xE9])
    let odd = decode([0xFF, 0xFE, 0x41])

    #expect(result.text == "\u{FFFD}")
    #expect(
      result.note
        == "the body starts with a UTF-8 byte order mark but is not valid; U+FFFD replaces invalid octets")
    #expect(odd.text == "A")
    #expect(odd.encodingName == "ISO-8859-1")
  }

  @Test(
    arguments: [
      (nil, "aüß€😀", "UTF-8"), ("utf-8", "aüß€😀", "UTF-8"), ("utf-16", "a€😀", "UTF-16BE"),
      ("utf-16le", "a€😀", "UTF-16LE"),
    ] as [(String?, String, String)])
  func `a truncated body loses only its incomplete last character`(charset: String?, text: String, name: String) {
    let octets: [UInt8] =
      switch charset {
      case "utf-16": text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
      case "utf-16le": text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
      default: Array(text.utf8)
      }
    let type = charset.map {
      MediaType(type: "text", subtype: "plain", parameters: [.init(name: "charset", value: $0)])
    }

    for count in 0...octets.count {
      let result = TextDecoding.decode(Data(octets.prefix(count)), contentType: type, isTruncated: true)

      #expect(text.hasPrefix(result.text) && result.encodingName == name && result.note == nil, "\(count)")
      #expect(octets.count - count >= 4 || result.text.count >= text.count - 1)
    }
  }

  @Test(
    arguments: [
      ("gbk", [0x41, 0xD6, 0xD0, 0xCE], "A中"), ("gb18030", [0x41, 0x84, 0x31, 0x95], "A"),
      ("shift_jis", [0x41, 0x93, 0xFA, 0x96], "A日"), ("euc-jp", [0x41, 0xC6, 0xFC, 0xCB], "A日"),
      ("big5", [0x41, 0xA4, 0xA4, 0xA4], "A中"), ("euc-kr", [0x41, 0xC7, 0xD1, 0xC7], "A한"),
    ] as [(String, [UInt8], String)])
  func `a truncated body in a legacy encoding keeps its charset`(charset: String, octets: [UInt8], text: String) {
    let type = MediaType(type: "text", subtype: "plain", parameters: [.init(name: "charset", value: charset)])

    let result = TextDecoding.decode(Data(octets), contentType: type, isTruncated: true)

    #expect(result.text == text && result.note == nil)
  }

  @Test(
    arguments: [
      ([], 0), ([0x61], 1), ([0xC3], 0), ([0xC3, 0xBC], 2), ([0x61, 0xE2], 1), ([0x61, 0xE2, 0x82], 1),
      ([0xE2, 0x82, 0xAC], 3), ([0xF0, 0x9F, 0x98], 0), ([0xF0, 0x9F, 0x98, 0x80], 4), ([0x61, 0xFF], 2),
      ([0x80, 0x80, 0x80, 0x80], 4), ([0x61, 0x80], 2), ([0xC3, 0xBC, 0xF0], 2), ([0xC0], 1), ([0xF5], 1),
    ] as [([UInt8], Int)])
  func `finds the end of the last complete character`(octets: [UInt8], count: Int) {
    #expect(octets.withoutPartialCharacter.count == count)
    #expect((Data([0x00]) + octets).dropFirst().withoutPartialCharacter.count == count)
  }

  @Test func `decodes a slice that does not start at index 0`() {
    let slice = Data([0x00, 0x00, 0x00, 0xFF, 0xFE, 0xE9, 0x00]).dropFirst(3)

    #expect(TextDecoding.decode(slice, contentType: nil).text == "é")
    #expect(TextDecoding.decode(Data([0x41, 0xE9]).dropFirst(), contentType: nil).text == "\u{FFFD}")
  }

  @Test func `EUC-JP decodes kanji to the same characters as Shift_JIS`() {
    // The first and the last kanji of odd and even rows, below and above the gap in Shift_JIS.
    let samples: [([UInt8], [UInt8])] = [
      ([0xB0, 0xA1], [0x88, 0x9F]), ([0xB1, 0xA1], [0x89, 0x40]), ([0xB1, 0xDF], [0x89, 0x7E]),
      ([0xB1, 0xE0], [0x89, 0x80]), ([0xB1, 0xFE], [0x89, 0x9E]), ([0xB2, 0xFE], [0x89, 0xFC]),
      ([0xDE, 0xFE], [0x9F, 0xFC]), ([0xDF, 0xA1], [0xE0, 0x40]), ([0xF3, 0xFE], [0xEA, 0x9E]),
    ]

    for (euc, shiftJIS) in samples {
      #expect(decode(euc, "euc-jp").text == decode(shiftJIS, "shift_jis").text)
      #expect(decode(euc, "euc-jp").note == nil)
      #expect(decode(euc, "euc-jp").text.unicodeScalars.count == 1)
    }
  }

  @Test func `Latin-1 maps each octet to the scalar with the same value`() {
    let result = decode(Array(0...255), "latin1")

    #expect(result.text.unicodeScalars.map(\.value) == Array(0...255))
  }

  @Test func `decodes random octets without failing`() {
    var random = SeededGenerator(seed: 6)
    let charsets = ["utf-8", "utf-16", "utf-16le", "euc-jp", "shift_jis", "gbk", "us-ascii", "x", nil]

    for _ in 0..<5_000 {
      let count = Int.random(in: 0...12, using: &random)
      let octets = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
      let result = decode(octets, charsets.randomElement(using: &random) ?? nil)

      #expect(!result.encodingName.isEmpty)
      #expect(result.text.isEmpty == false || octets.count <= 4)
    }
  }
}
