/// Which bytes of a file there are: spans in order that neither touch nor overlap.
struct ByteSpans: Hashable, Sendable {
  private(set) var spans: [Range<Int64>] = []

  init() {}

  /// The bytes from the start on.
  init(upTo end: Int64) { if end > 0 { spans = [0..<end] } }

  /// How many bytes there are.
  var count: Int64 { spans.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } }

  /// How many bytes there are from the start on without a gap.
  var prefix: Int64 { spans.first.map { $0.lowerBound == 0 ? $0.upperBound : 0 } ?? 0 }

  var isEmpty: Bool { spans.isEmpty }

  mutating func insert(_ span: Range<Int64>) {
    guard !span.isEmpty else { return }
    var joined = span
    // Those before it, those that touch it, those after it.
    let first = spans.firstIndex { $0.upperBound >= span.lowerBound } ?? spans.endIndex
    var last = first
    while last < spans.endIndex, spans[last].lowerBound <= span.upperBound {
      joined = min(joined.lowerBound, spans[last].lowerBound)..<max(joined.upperBound, spans[last].upperBound)
      last += 1
    }
    spans.replaceSubrange(first..<last, with: [joined])
  }

  func missing(in whole: Range<Int64>) -> [Range<Int64>] {
    var gaps: [Range<Int64>] = []
    var start = whole.lowerBound
    for span in spans where span.upperBound > start {
      if span.lowerBound >= whole.upperBound { break }
      if span.lowerBound > start { gaps.append(start..<span.lowerBound) }
      start = span.upperBound
    }
    if start < whole.upperBound { gaps.append(start..<whole.upperBound) }
    return gaps
  }

  /// What of it lies before a place.
  func cut(at end: Int64) -> ByteSpans {
    var cut = ByteSpans()
    cut.spans = spans.compactMap { $0.lowerBound < end ? $0.lowerBound..<min($0.upperBound, end) : nil }
    return cut
  }
}

extension ByteSpans: Codable {
  /// Reads pairs of numbers; what is no span makes the whole unreadable.
  init(from decoder: any Decoder) throws {
    for pair in try decoder.singleValueContainer().decode([[Int64]].self) {
      guard pair.count == 2, pair[0] >= 0, pair[0] < pair[1] else {
        throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no span"))
      }
      insert(pair[0]..<pair[1])
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(spans.map { [$0.lowerBound, $0.upperBound] })
  }
}
