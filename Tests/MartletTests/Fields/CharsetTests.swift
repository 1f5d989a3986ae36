import Foundation
import Testing

@testable import Martlet

/// Programs with and without Foundation must decode the same text.
@Suite struct CharsetTests {
  /// The numbers come from `CFStringEncodings`.
  private static let singleOctets: [(name: String, coreFoundation: UInt)] =
    [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16].map { ("ISO-8859-\($0)", 0x0200 + $0) }
    + [0x0501, 0x0502, 0x0500, 0x0503, 0x0504, 0x0505, 0x0506, 0x0507, 0x0508].enumerated().map {
      ("windows-125\($0.offset)", $0.element)
    }
    + [
      ("windows-874", 0x041D), ("KOI8-R", 0x0A02), ("KOI8-U", 0x0A08), ("IBM866", 0x041B), ("macintosh", 0),
      ("x-mac-cyrillic", 7),
    ]

  @Test(arguments: singleOctets) func `a table decodes each octet as Foundation does`(name: String, number: UInt) {
    let encoding = String.Encoding(rawValue: 0x8000_0000 | number)
    for octet in UInt8.min...UInt8.max {
      let expected = Self.known(String(data: Data([octet]), encoding: encoding))
      let text = SingleOctetCharset.decode(Data([octet]), name)
      #expect(text.map { Array($0.unicodeScalars) } == expected.map { Array($0.unicodeScalars) }, "\(octet)")
    }
    #expect(SingleOctetCharset.decode(Data(), name)?.isEmpty == true)
  }

  /// Returns nil for text with scalars of Apple's corporate use area: Foundation uses them for undefined octets.
  private static func known(_ text: String?) -> String? {
    text?.unicodeScalars.contains { 0xF860...0xF8FE ~= $0.value } == true ? nil : text
  }

  @Test func `has no table for an unknown name`() {
    #expect(SingleOctetCharset.decode(Data([0x41]), "ISO-8859-12") == nil)
  }

  #if !canImport(Darwin)
    private static let pairs: [(MultiOctetCharset, String.Encoding)] = [
      (.shiftJIS, .shiftJIS), (.gb18030, String.Encoding(rawValue: 0x8000_0632)),
      (.big5, String.Encoding(rawValue: 0x8000_0A06)), (.koreanEUC, String.Encoding(rawValue: 0x8000_0422)),
    ]

    /// Some systems provide only a few converters.
    private static var hasIconv: Bool { pairs.allSatisfy { $0.0.decodeWithIconv(Data()) != nil } }

    @Test(.enabled(if: hasIconv), arguments: pairs)
    func `iconv decodes pairs of octets as Foundation does`(_ charset: MultiOctetCharset, _ encoding: String.Encoding) {
      var exceptions: [[UInt8]] = []
      for first in UInt8(0x81)...0xFF {
        for second in UInt8(0x21)...0xFF {
          let octets = Data([first, second])
          let expected = Self.scalars(Self.known(String(data: octets, encoding: encoding)))
          let found = Self.scalars(charset.decodeWithIconv(octets))
          guard found != expected else { continue }
          // For unassigned code points, Foundation returns private-use scalars, and U+001A for 0x7F.
          let isUnassigned = (found + expected).contains {
            $0.properties.generalCategory == .privateUse || $0 == "\u{1A}"
          }
          if !isUnassigned { exceptions.append([first, second]) }
        }
      }
      #expect(exceptions == (charset == .big5 ? [[0x87, 0xA4], [0x87, 0xAC], [0xF9, 0xFE]] : []))
    }

    @Test(.enabled(if: hasIconv)) func `iconv decodes ISO-2022-JP as Foundation does`() {
      for first in UInt8(0x21)...0x7E {
        for second in UInt8(0x21)...0x7E {
          let octets = Data([0x1B, 0x24, 0x42, first, second, 0x1B, 0x28, 0x42])
          let expected = Self.scalars(Self.known(String(data: octets, encoding: .iso2022JP)))
          let found = Self.scalars(MultiOctetCharset.iso2022JP.decodeWithIconv(octets))
          #expect(found == expected, "\(first) \(second)")
        }
      }
    }

    private static func scalars(_ text: String?) -> [Unicode.Scalar] { text.map { Array($0.unicodeScalars) } ?? [] }

    @Test(
      .enabled(if: hasIconv),
      arguments: [
        (.iso2022JP, [0x1B, 0x24, 0x42, 0x46, 0x7C, 0x0A, 0x61], "日\na"),
        (.iso2022JP, [0x1B, 0x28, 0x49, 0x31, 0x1B, 0x28, 0x42, 0x61], "ｱa"), (.gbk, [0x80, 0x31], "€1"),
        (.shiftJIS, [0x5C, 0x7E], "\\~"),
        (.gb18030, [0x84, 0x31, 0x95, 0x33, 0xD6, 0xD0], "\u{FEFF}中"), (.big5, [0x88, 0x62], "Ê̄"),
        (.koreanEUC, [0xC7, 0xD1, 0x81, 0x41, 0x61], "한갂a"),
      ] as [(MultiOctetCharset, [UInt8], String)])
    func `iconv decodes whole texts`(_ charset: MultiOctetCharset, _ octets: [UInt8], _ text: String) {
      #expect(charset.decodeWithIconv(Data(octets)).map { Array($0.unicodeScalars) } == Array(text.unicodeScalars))
      #expect(charset.decodeWithIconv(Data(octets + [0xFF])) == nil)
    }
  #endif
}
