/// The present bytes of a file: sorted spans that neither touch nor overlap.
struct ByteSpans: Hashable, Sendable {
  private var covered = RangeSet<Int64>()

  init() {}

  /// Creates a span from the start of the file.
  init(upTo end: Int64) { insert(0..<max(end, 0)) }

  var spans: [Range<Int64>] { Array(covered.ranges) }

  /// The number of bytes in all spans.
  var count: Int64 { covered.ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } }

  /// The number of bytes from the start of the file without a gap.
  var prefix: Int64 { covered.ranges.first.map { $0.lowerBound == 0 ? $0.upperBound : 0 } ?? 0 }

  var isEmpty: Bool { covered.isEmpty }

  mutating func insert(_ span: Range<Int64>) { covered.insert(contentsOf: span) }

  func missing(in whole: Range<Int64>) -> [Range<Int64>] { Array(RangeSet(whole).subtracting(covered).ranges) }

  /// The spans before an offset.
  func cut(at end: Int64) -> ByteSpans {
    var cut = self
    cut.covered.formIntersection(RangeSet(0..<max(end, 0)))
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
