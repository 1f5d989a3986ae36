import Foundation
import TestSupport
import Testing

@testable import Martlet

/// The dates of `Expires` (RFC 6265bis §5.1.1).
@Suite struct CookieDateTests {
  @Test(
    arguments: [
      ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
      ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
      ("Sun Nov  6 08:49:37 1994", 784_111_777),
      ("Sun Nov 6 1994 08:49:37", 784_111_777),
      ("06 Nov 94 08:49:37", 784_111_777),
      ("1994 6 nOvEmBeR 8:49:37", 784_111_777),
      ("08:49:37 06 Nov 1994", 784_111_777),
      ("Nov-6-1994;08:49:37", 784_111_777),
      ("\t Sun,/06,Nov.1994 (08:49:37)", 784_111_777),
      // Time zones are ignored.
      ("Sun, 06 Nov 1994 08:49:37 +0200", 784_111_777),
      ("06 Nov 1994 08:49:37 PST 2001", 784_111_777),
      // Characters after the digits are ignored.
      ("6th November 1994AD 08:49:37.25", 784_111_777),
      ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
      ("Thu, 01 Jan 70 00:00:00 GMT", 0),
      ("Fri, 31 Dec 69 23:59:59 GMT", 3_155_759_999),
      ("Sun, 01 Jan 00 00:00:00 GMT", 946_684_800),
      ("Mon, 01 Jan 1601 00:00:00 GMT", -11_644_473_600),
      ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
      ("29 Feb 2024 00:00:00", 1_709_164_800),
      ("01 Mar 2023 1:2:3", 1_677_632_523),
      ("é 06 Nov 1994 08:49:37", 784_111_777),
    ] as [(String, Double)]) func `reads the date formats that servers send`(text: String, seconds: Double)
  {
    #expect(CookieDate.parse(text.utf8) == Date(timeIntervalSince1970: seconds))
  }

  @Test(arguments: [
    "", "0", "Sun", "06 Nov 1994", "Nov 1994 08:49:37", "06 1994 08:49:37", "06 Nov 08:49:37",
    "32 Jan 2024 00:00:00", "00 Jan 2024 00:00:00", "30 Feb 2024 00:00:00", "29 Feb 2023 00:00:00",
    "31 Apr 2024 00:00:00", "01 Jan 1600 00:00:00", "01 Jan 0100 00:00:00", "01 Jan 101 00:00:00",
    "01 Jan 2024 24:00:00", "01 Jan 2024 00:60:00", "01 Jan 2024 00:00:60", "31 Dec 2016 23:59:60",
    "01 Jan 20240 00:00:00", "001 Jan 2024 00:00:00", "01 Jän 2024 00:00:00", "01 Jan 2024 000:00:00",
    "01 Jan 2024 00:00", "01 Jan 2024 00:00:000", "01 Jan 2024 :00:00",
    "99999999999999999999999999 Jan 2024 00:00:00",
  ]) func `rejects malformed and impossible dates`(text: String) {
    #expect(CookieDate.parse(text.utf8) == nil)
  }

  @Test func `reads damaged dates without crashing`() {
    var random = SeededGenerator(seed: 6265)
    let samples = ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "1:1:1 1 jan 70"]
    var found = 0
    let count = Stress.count(4_000, full: 100_000)
    for _ in 0..<count where CookieDate.parse(random.damagedText(of: samples).utf8) != nil { found += 1 }
    #expect(found > count / 20)
  }
}
