import TestSupport
import Testing

@testable import Martlet

@Suite struct ContentRangeTests {
  @Test(
    arguments: [
      ("bytes 0-499/1234", 0...499, 1234), ("bytes 500-999/1234", 500...999, 1234),
      ("bytes 42-1233/1234", 42...1233, 1234),
      ("bytes 42-1233/*", 42...1233, nil), ("bytes */1234", nil, 1234), ("bytes */0", nil, 0),
      ("BYTES 0-0/1", 0...0, 1),
      ("  bytes  0-0/1\t", 0...0, 1), ("bytes 007-008/0010", 7...8, 10),
    ] as [(String, ClosedRange<Int64>?, Int64?)]) func `parses valid values`(
      text: String, range: ClosedRange<Int64>?, size: Int64?
    ) throws
  {
    let part = try #require(ContentRange(text))

    #expect(part.range == range)
    #expect(part.size == size)
    #expect(part.length == range.map { Int64($0.count) } ?? 0)
  }

  @Test(arguments: [
    "", "bytes", "bytes ", "bytes */*", "bytes 0-499", "bytes 0-499/", "bytes /1", "bytes 1-0/5", "bytes 0-5/5",
    "bytes 5-5/5", "bytes -5/5", "bytes 5-/9", "bytes 0-1-2/9", "bytes 0-1/2/3", "bytes=0-1/2", "bytes 0 - 1/2",
    "bytes +0-1/2", "bytes 0-0x1/2", "items 0-1/2", "bytes 0-1/-2", "bytes *-1/2", "bytes 0-*/2", "bytes\u{A0}0-1/2",
    "bytes 0-1/2, bytes 3-4/5", "bytes ٠-١/٢",
  ]) func `rejects malformed and contradictory values`(text: String) {
    #expect(ContentRange(text) == nil)
  }

  @Test func `a damaged value yields nil or a consistent range`() {
    var random = SeededGenerator(seed: 14)
    for _ in 0..<Stress.count(4_000, full: 20_000) {
      guard let part = ContentRange(random.damagedText(of: ["bytes 0-499/1234", "bytes 5-6/*", "bytes */7"])) else {
        continue
      }
      #expect(part.range != nil || part.size != nil)
      #expect(part.length >= 0 && part.length <= part.size ?? .max)
    }
  }
}
