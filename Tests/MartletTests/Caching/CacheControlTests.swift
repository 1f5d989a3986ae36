import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// Parsing of the directives of RFC 9111 §5.2, RFC 8246 and RFC 5861.
@Suite struct CacheControlTests {
  @Test(
    arguments: [
      ("max-age=60", 60), ("MAX-AGE=60", 60), ("public,max-age=60", 60), ("max-age=\"60\"", 60), ("max-age=060", 60),
      ("max-age=99999999999999999999", 1 << 31), ("max-age=2147483649", 1 << 31), ("max-age=-1", 0), ("max-age=1.5", 0),
      ("max-age='60'", 0), ("max-age", 0), ("max-age=", 0), ("max-age =60", 0), ("max-age= 60", 0), ("max-age=60x", 0),
      ("max-age=60, max-age=60", 60), ("max-age=60, max-age=61", 0), ("a=\"max-age=60\"", nil), ("s-maxage=60", nil),
      ("x=\"\\\", max-age=5\", max-age=60", 60), ("max-agee=60", nil), ("", nil), (",,, ,", nil),
      ("a=\"never ends, max-age=60", nil),
    ] as [(String, Int?)]) func `reads delta-seconds`(value: String, seconds: Int?)
  {
    #expect(CacheControl([value]).seconds("max-age") == seconds)
  }

  @Test func `combines all field lines into one list`() {
    let control = CacheControl(["max-age=60", "no-cache, Private"])

    #expect(control.seconds("max-age") == 60)
    #expect(control.has("no-cache") && control.has("private"))
    #expect(!control.has("no-store"))
  }

  @Test(arguments: [
    ("no-cache", true, []), ("no-cache=\"set-cookie\"", false, ["set-cookie"]),
    ("no-cache=Set-Cookie", false, ["set-cookie"]),
    ("no-cache=\"A, b\"", false, ["a", "b"]), ("no-cache=\"\"", true, []), ("no-cache=\"a b\"", true, ["a b"]),
    ("no-cache, no-cache=\"a\"", true, ["a"]), ("no-cache=", true, []),
  ]) func `distinguishes qualified and unqualified directives`(value: String, isForAll: Bool, fields: [String]) {
    let control = CacheControl([value])

    #expect(control.isUnqualified("no-cache") == isForAll)
    #expect(control.fields("no-cache") == fields)
  }

  @Test func `treats an overlong value as no-store`() {
    let control = CacheControl(["max-age=60, \(String(repeating: "x", count: 9_000))"])

    #expect(control.has("no-store"))
  }

  @Test func `max-stale without a value accepts any staleness`() {
    #expect(CacheControl(["max-stale"]).maximumStaleness == .max)
    #expect(CacheControl(["max-stale=5"]).maximumStaleness == 5)
    #expect(CacheControl(["max-stale=x"]).maximumStaleness == 0)
    #expect(CacheControl(["max-age=5"]).maximumStaleness == nil)
  }

  @Test func `reads damaged values without crashing`() {
    var random = SeededGenerator(seed: 11)
    for _ in 0..<Stress.count(4_000, full: 20_000) {
      let text = random.damagedText(of: ["max-age=60, private=\"a,b\"", "no-cache=\"x\\\"\", s-maxage=\"1\""])
      let control = CacheControl([text])
      #expect((control.seconds("max-age") ?? 0) >= 0)
      _ = control.fields("no-cache")
      _ = control.isUnqualified("private")
    }
  }
}
