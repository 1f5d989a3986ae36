/// The present bytes of a file: sorted spans that neither touch nor overlap.
struct ByteSpans: Hashable, Sendable {
  private(set) var spans: [Range<Int64>] = []

  init() {}

  /// Creates a span from the start of the file.
  init(upTo end: Int64) { if end > 0 { spans = [0..<end] } }

  /// The number of bytes in all spans.
  var count: Int64 { spans.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } }

  /// The number of bytes from the start of the file without a gap.
  var prefix: Int64 { spans.first.map { $0.lowerBound == 0 ? $0.upperBound : 0 } ?? 0 }

  var isEmpty: Bool { spans.isEmpty }

  mutating func insert(_ span: Range<Int64>) {
    guard !span.isEmpty else { return }
    var joined = span
    // Skips the spans before it, joins those that touch it, and keeps those after it.
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

  /// The spans before an offset.
  func cut(at end: Int64) -> ByteSpans {
    var cut = ByteSpans()
    cut.spans = spans.compactMap { $0.lowerBound < end ? $0.lowerBound..<min($0.upperBound, end) : nil }
    return cut
  }
}

extension ByteSpans: Codable {
  /// Decodes pairs of numbers; throws if any pair is not a span.
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
