import Foundation
import TestSupport
import Testing

@testable import Martlet

@Suite struct ByteSpansTests {
  @Test func `joins adjacent spans and keeps separate ones`() {
    var spans = ByteSpans()
    for span in [10..<20, 30..<40, 20..<25, 5..<7, 0..<5, 24..<31, 50..<50] as [Range<Int64>] { spans.insert(span) }

    #expect(spans.spans == [0..<7, 10..<40])
    #expect(spans.count == 37 && spans.prefix == 7)
    #expect(spans.missing(in: 0..<50) == [7..<10, 40..<50])
    #expect(spans.missing(in: 12..<38).isEmpty)
    #expect(spans.cut(at: 12).spans == [0..<7, 10..<12])
  }

  @Test func `behaves like a set of integers`() {
    var generator = SeededGenerator(seed: 7)
    for _ in 0..<300 {
      var (spans, set) = (ByteSpans(), Set<Int64>())
      for _ in 0..<Int.random(in: 1...12, using: &generator) {
        let start = Int64.random(in: 0...60, using: &generator)
        let span = start..<(start + Int64.random(in: 0...15, using: &generator))
        spans.insert(span)
        set.formUnion(span)
      }
      #expect(Set(spans.spans.flatMap { $0 }) == set)
      #expect(zip(spans.spans, spans.spans.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
      #expect(Set(spans.missing(in: 3..<70).flatMap { $0 }) == Set(3..<70).subtracting(set))
      #expect(Set(spans.cut(at: 31).spans.flatMap { $0 }) == set.filter { $0 < 31 })
      #expect(spans.count == Int64(set.count))
    }
  }

  @Test func `survives a JSON round trip and rejects invalid spans`() throws {
    var spans = ByteSpans(upTo: 9)
    spans.insert(20..<30)
    let data = try JSONEncoder().encode(spans)
    #expect(String(decoding: data, as: UTF8.self) == "[[0,9],[20,30]]")
    #expect(try JSONDecoder().decode(ByteSpans.self, from: data) == spans)
    for text in ["[[5,5]]", "[[9,2]]", "[[-1,4]]", "[[1]]", "[[1,2,3]]", "[[0,99999999999999999999]]", "[3]"] {
      #expect(throws: (any Error).self) { try JSONDecoder().decode(ByteSpans.self, from: Data(text.utf8)) }
    }
  }
}
