import Foundation

extension TextDecoding {
  /// The encoding for a lower-case name from the IANA registry, the WHATWG Encoding standard (§4.2) or in common use.
  static func encoding(named label: String) -> TextEncoding? { encodings[label] }

  private static let encodings: [String: TextEncoding] = {
    var result: [String: TextEncoding] = [:]
    func add(_ labels: String, _ encoding: TextEncoding) {
      for label in labels.split(separator: " ") { result[String(label)] = encoding }
    }
    for (labels, encoding) in table { add(labels, encoding) }
    for (part, labels) in isoLabels {
      let encoding = TextEncoding.foundation("ISO-8859-\(part)", coreFoundation: 0x0200 + UInt(part))
      add("\(labels) iso-8859-\(part) iso_8859-\(part) iso8859-\(part) iso8859\(part)", encoding)
      add("iso_8859-\(part):1987 iso_8859-\(part):1988 iso_8859-\(part):1989", encoding)
    }
    let windowsNumbers: [UInt] = [0x0501, 0x0502, 0x0500, 0x0503, 0x0504, 0x0505, 0x0506, 0x0507, 0x0508]
    for (digit, number) in windowsNumbers.enumerated() {
      let encoding = TextEncoding.foundation("windows-125\(digit)", coreFoundation: number)
      add("windows-125\(digit) cp125\(digit) x-cp125\(digit)", encoding)
    }
    return result
  }()

  /// Encodings with their labels, except ISO 8859 and the code pages of Windows from 1250.
  ///
  /// The numbers are those of `CFStringEncodings`. As in the WHATWG standard, EUC-KR includes code page 949, and Big5
  /// includes the Hong Kong supplement.
  private static let table: [(labels: String, encoding: TextEncoding)] = [
    ("utf-8 utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8", .utf8),
    ("us-ascii ascii ansi_x3.4-1968 iso646-us", .ascii),
    ("iso-8859-1 iso8859-1 iso_8859-1 iso_8859-1:1987 iso88591 latin1 latin-1 l1 csisolatin1", .latin1),
    ("cp819 ibm819 iso-ir-100", .latin1),
    ("utf-16 utf16", .utf16),
    ("utf-16le", .utf16LittleEndian),
    ("utf-16be unicodefffe", .utf16BigEndian),
    ("csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff", .unicode),
    ("shift_jis shift-jis sjis x-sjis windows-31j ms_kanji csshiftjis ms932", .foundation("Shift_JIS", .shiftJIS)),
    ("euc-jp eucjp x-euc-jp cseucpkdfmtjapanese", .japaneseEUC),
    // GB 18030 contains the other two, and the decoder for GB 2312 alone skips unknown characters.
    ("gb2312 euc-cn chinese csgb2312 csiso58gb231280", .foundation("GB2312", coreFoundation: 0x0632)),
    ("gb_2312 gb_2312-80 iso-ir-58", .foundation("GB2312", coreFoundation: 0x0632)),
    ("gbk cp936 windows-936 x-gbk", .foundation("GBK", coreFoundation: 0x0632)),
    ("gb18030", .foundation("GB18030", coreFoundation: 0x0632)),
    ("koi8-r koi8_r koi8 koi cskoi8r", .foundation("KOI8-R", coreFoundation: 0x0A02)),
    ("koi8-u koi8-ru", .foundation("KOI8-U", coreFoundation: 0x0A08)),
    ("ibm866 cp866 866 csibm866", .foundation("IBM866", coreFoundation: 0x041B)),
    ("windows-874 dos-874 tis-620", .foundation("windows-874", coreFoundation: 0x041D)),
    ("macintosh mac x-mac-roman csmacintosh", .foundation("macintosh", coreFoundation: 0)),
    ("x-mac-cyrillic x-mac-ukrainian", .foundation("x-mac-cyrillic", coreFoundation: 7)),
    ("big5 big5-hkscs cn-big5 csbig5 x-x-big5", .foundation("Big5", coreFoundation: 0x0A06)),
    ("euc-kr cseuckr csksc56011987 iso-ir-149 korean", .foundation("EUC-KR", coreFoundation: 0x0422)),
    ("ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601", .foundation("EUC-KR", coreFoundation: 0x0422)),
    ("windows-949 cp949", .foundation("EUC-KR", coreFoundation: 0x0422)),
    ("iso-2022-jp csiso2022jp", .foundation("ISO-2022-JP", coreFoundation: 0x0820)),
  ]

  /// The other labels of ISO 8859, by the number of the part.
  private static let isoLabels = [
    2: "latin2 l2 csisolatin2 iso-ir-101",
    3: "latin3 l3 csisolatin3 iso-ir-109",
    4: "latin4 l4 csisolatin4 iso-ir-110",
    5: "cyrillic csisolatincyrillic iso-ir-144",
    6: "arabic csisolatinarabic asmo-708 ecma-114 iso-ir-127 iso-8859-6-e iso-8859-6-i csiso88596e csiso88596i",
    7: "greek greek8 csisolatingreek ecma-118 elot_928 iso-ir-126 sun_eu_greek",
    // Text in visual order and in logical order has the same characters.
    8: "hebrew visual logical csisolatinhebrew iso-ir-138 iso-8859-8-e csiso88598e iso-8859-8-i csiso88598i",
    9: "latin5 l5 csisolatin5 iso-ir-148",
    10: "latin6 l6 csisolatin6 iso-ir-157",
    11: "",
    13: "",
    14: "",
    15: "latin9 latin-9 l9 csisolatin9",
    16: "",
  ]
}
