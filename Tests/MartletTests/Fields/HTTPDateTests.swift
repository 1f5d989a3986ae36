import Foundation
import TestSupport
import Testing

@testable import Martlet

@Suite struct HTTPDateTests {
  private static let first: Int64 = -62_167_219_200
  private static let last: Int64 = 253_402_300_799

  private static func date(_ seconds: Int64) -> Date { Date(timeIntervalSince1970: TimeInterval(seconds)) }
  private static func now(_ text: String) throws -> Date { try #require(HTTPDate(text)).date }

  @Test(
    arguments: [
      ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
      ("Wed, 31 Dec 1969 23:59:59 GMT", -1), ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
      ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199), ("Fri, 31 Dec 9999 23:59:59 GMT", last),
      ("Sat, 01 Jan 0000 00:00:00 GMT", first), ("Tue, 19 Jan 2038 03:14:08 GMT", 2_147_483_648),
      ("Thu, 01 Mar 1900 00:00:00 GMT", -2_203_891_200), ("Tue, 29 Feb 0000 00:00:00 GMT", first + 59 * 86_400),
    ] as [(String, Int64)])
  func `parses and formats the preferred format`(text: String, seconds: Int64) throws {
    let date = try #require(HTTPDate(text))

    #expect(date.date == Self.date(seconds))
    #expect(HTTPDate(Self.date(seconds)).description == text)
  }

  @Test(arguments: [
    "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    "Sun Nov 06 08:49:37 1994", "  Sun, 06 Nov 1994 08:49:37 GMT\t", "Mon, 06 Nov 1994 08:49:37 GMT",
  ])
  func `parses the three date formats`(text: String) throws {
    let now = try Self.now("Thu, 01 Jan 2026 00:00:00 GMT")

    #expect(HTTPDate(text, now: now)?.date == Self.date(784_111_777))
  }

  @Test(arguments: [
    "", " ", "0", "Sun", "Sun,", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
    "sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 gmt",
    "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 06 Nov 1994 08:49:37",
    "Sun, 06 Nov 1994 08:49:37 GMTx", "Sun,  06 Nov 1994 08:49:37 GMT", "Sun,06 Nov 1994 08:49:37 GMT",
    "Sux, 06 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT",
    "Sunday, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT", "Sunday Nov  6 08:49:37 1994",
    "Sun Nov 6 08:49:37 1994", "Sun Nov  6 08:49:37 94", "Sun Nov  6 08:49:37 1994 GMT",
    "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov -994 08:49:37 GMT", "Sun, 06 Nov 10000 08:49:37 GMT", "\nSun, 06 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:37 GMT\r\n", "Sun, ０６ Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z", "784111777",
    "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
  ])
  func `rejects other formats`(text: String) {
    #expect(HTTPDate(text) == nil)
  }

  @Test(arguments: [
    "00 Jan 2024 00:00:00", "32 Jan 2024 00:00:00", "30 Feb 2024 00:00:00", "29 Feb 2023 00:00:00",
    "29 Feb 1900 00:00:00", "29 Feb 2100 00:00:00", "31 Apr 2024 00:00:00", "31 Jun 2024 00:00:00",
    "31 Sep 2024 00:00:00", "31 Nov 2024 00:00:00", "01 Jan 2024 24:00:00", "01 Jan 2024 00:60:00",
    "01 Jan 2024 00:00:60", "01 Jan 2024 23:59:61", "01 Jan 2024 99:99:99",
  ])
  func `rejects dates that do not exist`(text: String) {
    #expect(HTTPDate("Mon, \(text) GMT") == nil)
  }

  @Test func `parses a leap second as the following second`() {
    #expect(HTTPDate("Sat, 31 Dec 2016 23:59:60 GMT") == HTTPDate("Sun, 01 Jan 2017 00:00:00 GMT"))
    #expect(HTTPDate("Fri, 31 Dec 9999 23:59:60 GMT")?.date == Self.date(Self.last))
  }

  @Test(arguments: [
    ("Wed, 01 Jan 2025 00:00:00 GMT", "01-Jan-75 00:00:00", "Tue, 01 Jan 2075 00:00:00 GMT"),
    ("Wed, 01 Jan 2025 00:00:00 GMT", "01-Jan-75 00:00:01", "Wed, 01 Jan 1975 00:00:01 GMT"),
    ("Wed, 01 Jan 2025 00:00:00 GMT", "31-Dec-74 23:59:59", "Mon, 31 Dec 2074 23:59:59 GMT"),
    ("Wed, 01 Jan 2025 00:00:00 GMT", "31-Dec-75 00:00:00", "Wed, 31 Dec 1975 00:00:00 GMT"),
    ("Wed, 01 Jan 2025 00:00:00 GMT", "01-Jan-00 00:00:00", "Sat, 01 Jan 2000 00:00:00 GMT"),
    ("Wed, 01 Jan 2025 00:00:00 GMT", "01-Jan-99 00:00:00", "Fri, 01 Jan 1999 00:00:00 GMT"),
    ("Thu, 01 Jan 2099 00:00:00 GMT", "01-Jan-05 00:00:00", "Thu, 01 Jan 2105 00:00:00 GMT"),
    ("Thu, 01 Jan 2099 00:00:00 GMT", "01-Jan-60 00:00:00", "Thu, 01 Jan 2060 00:00:00 GMT"),
    ("Fri, 01 Jan 1999 00:00:00 GMT", "29-Feb-00 00:00:00", "Tue, 29 Feb 2000 00:00:00 GMT"),
  ])
  func `interprets a two-digit year as at most 50 years in the future`(
    now: String, text: String, expected: String
  ) throws {
    let date = HTTPDate("Monday, \(text) GMT", now: try Self.now(now))

    #expect(date?.description == expected)
  }

  @Test(arguments: [-Double.infinity, -1e300, -7e10, 0, 2.6e11, 1e300, .infinity, .nan])
  func `parses two-digit years safely for any current date`(interval: TimeInterval) {
    for year in 0...99 {
      let text = "Monday, 29-Feb-\(year / 10)\(year % 10) 00:00:00 GMT"
      let date = HTTPDate(text, now: Date(timeIntervalSince1970: interval))

      #expect(date == nil || date?.description.contains("29 Feb") == true)
    }
  }

  @Test(arguments: [
    (0.0, "Thu, 01 Jan 1970 00:00:00 GMT"), (0.999_999, "Thu, 01 Jan 1970 00:00:00 GMT"),
    (-0.000_001, "Wed, 31 Dec 1969 23:59:59 GMT"), (-1.5, "Wed, 31 Dec 1969 23:59:58 GMT"),
    (253_402_300_799.9, "Fri, 31 Dec 9999 23:59:59 GMT"), (253_402_300_800, "Fri, 31 Dec 9999 23:59:59 GMT"),
    (-62_167_219_201, "Sat, 01 Jan 0000 00:00:00 GMT"), (.infinity, "Fri, 31 Dec 9999 23:59:59 GMT"),
    (.greatestFiniteMagnitude, "Fri, 31 Dec 9999 23:59:59 GMT"), (-.infinity, "Sat, 01 Jan 0000 00:00:00 GMT"),
    (-.greatestFiniteMagnitude, "Sat, 01 Jan 0000 00:00:00 GMT"), (.nan, "Thu, 01 Jan 1970 00:00:00 GMT"),
  ])
  func `rounds and clamps any Date to a representable second`(interval: TimeInterval, text: String) {
    let date = HTTPDate(Date(timeIntervalSince1970: interval))

    #expect(date.description == text)
    #expect(date == HTTPDate(date.date))
    #expect(HTTPDate(text) == date)
  }

  @Test func `formats distantPast and distantFuture`() {
    // January 1 of the year 1 in the Julian calendar.
    #expect(HTTPDate(.distantPast).description == "Sat, 30 Dec 0000 00:00:00 GMT")
    #expect(HTTPDate(.distantFuture).description == "Mon, 01 Jan 4001 00:00:00 GMT")
  }

  @Test func `is ordered by time`() {
    let dates = [5, 3, -9].map { HTTPDate(Self.date($0)) }

    #expect(dates.sorted() == dates.reversed())
    #expect(HTTPDate(Self.date(3)) == HTTPDate(Self.date(3).addingTimeInterval(0.5)))
  }

  @Test func `random dates survive a round trip`() throws {
    var random = SeededGenerator(seed: 1)

    for _ in 0..<5_000 {
      let seconds = Int64.random(in: 0...Self.last, using: &random)
      let date = HTTPDate(Self.date(seconds))

      let copy = try #require(HTTPDate(date.description))

      try #require(copy == date)
      try #require(copy.date == Self.date(seconds))
    }
  }

  @Test func `agrees with a calendar that counts day by day`() throws {
    let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let weekdays = ["Sat", "Sun", "Mon", "Tue", "Wed", "Thu", "Fri"]
    var day: Int64 = 0

    for year in 0...9_999 {
      let isLeap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0)
      for (month, length) in lengths.enumerated() {
        let count = length + (month == 1 && isLeap ? 1 : 0)
        // The last day of a month is the most error-prone.
        day += Int64(count)
        guard year % 37 == 0 || year % 100 == 0 else { continue }
        let number = String(year)
        let padded = String(repeating: "0", count: 4 - number.count) + number
        let text = "\(weekdays[Int((day - 1) % 7)]), \(count) \(months[month]) \(padded) 00:00:00 GMT"
        let date = HTTPDate(Self.date(Self.first + (day - 1) * 86_400))
        try #require(date.description == text)
        try #require(HTTPDate(text) == date)
      }
    }
  }

  @Test func `a damaged date is rejected or survives a round trip`() {
    var random = SeededGenerator(seed: 2)
    let samples = ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
    var accepted = 0

    let rounds = Stress.count(4_000, full: 20_000)
    for _ in 0..<rounds {
      guard let date = HTTPDate(random.damagedText(of: samples)) else { continue }
      accepted += 1
      #expect(HTTPDate(date.description) == date)
    }

    #expect(accepted > rounds / 20)
  }
}
