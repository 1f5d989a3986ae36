import MartletBase

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
      let encoding = TextEncoding.singleOctet("ISO-8859-\(part)")
      add("\(labels) iso-8859-\(part) iso_8859-\(part) iso8859-\(part) iso8859\(part)", encoding)
      add("iso_8859-\(part):1987 iso_8859-\(part):1988 iso_8859-\(part):1989", encoding)
    }
    for digit in 0...8 {
      add("windows-125\(digit) cp125\(digit) x-cp125\(digit)", .singleOctet("windows-125\(digit)"))
    }
    return result
  }()

  /// Encodings with their labels, except ISO 8859 and the code pages of Windows from 1250.
  ///
  /// As in the WHATWG standard, EUC-KR includes code page 949, and Big5 includes the Hong Kong supplement.
  private static let table: [(labels: String, encoding: TextEncoding)] = [
    ("utf-8 utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8", .utf8),
    ("us-ascii ascii ansi_x3.4-1968 iso646-us", .ascii),
    ("iso-8859-1 iso8859-1 iso_8859-1 iso_8859-1:1987 iso88591 latin1 latin-1 l1 csisolatin1", .latin1),
    ("cp819 ibm819 iso-ir-100", .latin1),
    ("utf-16 utf16", .utf16),
    ("utf-16le", .utf16LittleEndian),
    ("utf-16be unicodefffe", .utf16BigEndian),
    ("csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff", .unicode),
    ("shift_jis shift-jis sjis x-sjis windows-31j ms_kanji csshiftjis ms932", .multiOctet(.shiftJIS)),
    ("euc-jp eucjp x-euc-jp cseucpkdfmtjapanese", .multiOctet(.japaneseEUC)),
    ("gb2312 euc-cn chinese csgb2312 csiso58gb231280", .multiOctet(.gb2312)),
    ("gb_2312 gb_2312-80 iso-ir-58", .multiOctet(.gb2312)),
    ("gbk cp936 windows-936 x-gbk", .multiOctet(.gbk)),
    ("gb18030", .multiOctet(.gb18030)),
    ("koi8-r koi8_r koi8 koi cskoi8r", .singleOctet("KOI8-R")),
    ("koi8-u koi8-ru", .singleOctet("KOI8-U")),
    ("ibm866 cp866 866 csibm866", .singleOctet("IBM866")),
    ("windows-874 dos-874 tis-620", .singleOctet("windows-874")),
    ("macintosh mac x-mac-roman csmacintosh", .singleOctet("macintosh")),
    ("x-mac-cyrillic x-mac-ukrainian", .singleOctet("x-mac-cyrillic")),
    ("big5 big5-hkscs cn-big5 csbig5 x-x-big5", .multiOctet(.big5)),
    ("euc-kr cseuckr csksc56011987 iso-ir-149 korean", .multiOctet(.koreanEUC)),
    ("ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601", .multiOctet(.koreanEUC)),
    ("windows-949 cp949", .multiOctet(.koreanEUC)),
    ("iso-2022-jp csiso2022jp", .multiOctet(.iso2022JP)),
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
