import Foundation
import Testing

@testable import Martlet

/// RFC 9111 §4.2 as tables.
@Suite struct FreshnessTests {
  static let start = Date(timeIntervalSince1970: 1_700_000_000)

  static func date(_ offset: TimeInterval) -> String { HTTPDate(start + offset).description }

  static func entry(
    _ headers: HTTPHeaders, status: Int = 200, delay: TimeInterval = 0, lifetime: TimeInterval? = nil
  ) -> CacheEntry {
    CacheEntry(
      status: status, reasonPhrase: "", headers: headers, selectors: [:], requestTime: start - delay,
      responseTime: start, bodyLength: 0, programLifetime: lifetime)
  }

  @Test(
    arguments: [
      (["Cache-Control": "max-age=60"], 60), (["Cache-Control": "max-age=60", "Expires": date(600)], 60),
      (["Expires": date(600), "Date": date(0)], 600), (["Expires": date(600)], 600),
      (["Expires": date(600), "Date": date(100)], 500), (["Expires": "0"], 0), (["Expires": "-1"], 0),
      (["Expires": date(-10), "Date": date(0)], 0), (["Expires": date(600).lowercased(), "Date": date(0)], 600),
      (["Expires": "Thu, 01 Jan 1970 00:00:00 UTC"], 0), (["Expires": date(600), "Date": "gibberish"], 600),
      (["Last-Modified": date(-1_000), "Date": date(0)], 100), (["Last-Modified": date(-1_000)], 100),
      (["Last-Modified": date(1_000), "Date": date(0)], 0), (["Last-Modified": "x"], 0),
      (["Last-Modified": date(-1e9), "Date": date(0)], 7 * 86_400), (["Cache-Control": "s-maxage=60"], 0),
      (["Cache-Control": "max-age=99999999999"], TimeInterval(1 << 31)), ([:], 0),
      (["Cache-Control": "no-cache", "Last-Modified": date(-1_000)], 100),
    ] as [(HTTPHeaders, TimeInterval)]) func `computes the freshness lifetime`(
      headers: HTTPHeaders, lifetime: TimeInterval
    )
  {
    #expect(Freshness(Self.entry(headers), at: Self.start).lifetime == lifetime)
  }

  @Test(arguments: [
    (200, true), (203, true), (204, true), (300, true), (301, true), (308, true), (404, true), (405, true), (410, true),
    (414, true), (501, true), (201, false), (202, false), (302, false), (303, false), (307, false), (403, false),
    (500, false), (502, false), (503, false), (504, false), (599, false),
  ]) func `uses heuristic freshness only for heuristically cacheable or public responses`(status: Int, isGuessed: Bool)
  {
    let headers: HTTPHeaders = ["Last-Modified": Self.date(-1_000)]

    #expect((Freshness(Self.entry(headers, status: status), at: Self.start).lifetime > 0) == isGuessed)
    let isPublic = headers.replacing(with: ["Cache-Control": "public"])
    #expect(Freshness(Self.entry(isPublic, status: status), at: Self.start).lifetime > 0)
  }

  @Test(
    arguments: [
      ([:], 0, 0), ([:], 10, 10), (["Age": "5"], 10, 15), (["Age": "x"], 10, 10), (["Age": "-5"], 10, 10),
      (["Age": "5, 9"], 0, 5), (["Age": "1.5"], 0, 0), (["Age": "99999999999999999999"], 0, TimeInterval(1 << 31)),
      (["Date": date(-30)], 0, 30), (["Date": date(-30)], 10, 40), (["Date": date(30)], 10, 10),
      (["Date": date(-30), "Age": "100"], 0, 100), (["Date": date(-300), "Age": "100"], 0, 300),
    ] as [(HTTPHeaders, TimeInterval, TimeInterval)])
  func `computes the current age`(headers: HTTPHeaders, resident: TimeInterval, age: TimeInterval) {
    #expect(Freshness(Self.entry(headers), at: Self.start + resident).age == age)
  }

  @Test func `the response delay counts toward the age`() {
    #expect(Freshness(Self.entry(["Age": "5"], delay: 3), at: Self.start).age == 8)
  }

  @Test func `a clock set back far makes responses stale, but a small shift does not`() {
    let entry = Self.entry(["Cache-Control": "max-age=60"])

    #expect(!Freshness(entry, at: Self.start - 3_600).isFresh)
    #expect(Freshness(entry, at: Self.start - 2).isFresh)
    #expect(Freshness(entry, at: Self.start - 2).age == 0)
    #expect(!Freshness(entry, at: .distantPast).isFresh)
    #expect(!Freshness(entry, at: .distantFuture).isFresh)
  }

  @Test func `the program's lifetime overrides the server's`() {
    #expect(Freshness(Self.entry(["Cache-Control": "max-age=1"], lifetime: 100), at: Self.start).lifetime == 100)
    #expect(Freshness(Self.entry(["Cache-Control": "max-age=100"], lifetime: 1), at: Self.start).lifetime == 1)
  }

  @Test func `is fresh until its age reaches its lifetime`() {
    let entry = Self.entry(["Cache-Control": "max-age=60"])

    #expect(Freshness(entry, at: Self.start + 59.9).isFresh)
    #expect(!Freshness(entry, at: Self.start + 60).isFresh)
  }
}
