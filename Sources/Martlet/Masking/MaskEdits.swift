import MartletBase

/// The masks of a text, in any order.
struct MaskEdits {
  private(set) var edits: [(range: Range<Int>, mask: [UInt8]?)] = []
  /// The values without parts, with their masks; in the order of the text.
  private var scalars: [(range: Range<Int>, mask: [UInt8])] = []

  static let mask = Array("***".utf8)

  var count: Int { edits.count }

  /// Replaces a range of the source.
  mutating func mask(_ range: Range<Int>, by mask: [UInt8] = Self.mask) { edits.append((range, mask)) }

  /// Masks the scalars in a range, but keeps its structure.
  mutating func maskScalars(in range: Range<Int>) { edits.append((range, nil)) }

  /// Adds a value without parts, which is masked only in a range of ``maskScalars(in:)``.
  mutating func scalar(_ range: Range<Int>, _ mask: [UInt8]) { scalars.append((range, mask)) }

  /// Adds the masks of a part of the text.
  mutating func add(_ part: MaskEdits) { edits += part.edits }

  /// Drops the edits after the first ones.
  mutating func keep(_ count: Int) { edits.removeLast(edits.count - count) }

  /// The source with its masks; the first and the longest of overlapping masks counts.
  func applied(to source: [UInt8]) -> [UInt8] {
    guard !edits.isEmpty else { return source }
    // A mask of a range may show a part of it, so the mask of its scalars comes first.
    let sorted = edits.ordered {
      ($0.range.lowerBound, -$0.range.upperBound, $0.mask == nil ? 0 : 1)
        < ($1.range.lowerBound, -$1.range.upperBound, $1.mask == nil ? 0 : 1)
    }
    var result: [UInt8] = []
    result.reserveCapacity(source.count)
    var index = 0
    func replace(_ range: Range<Int>, by mask: [UInt8]) {
      result += source[index..<range.lowerBound] + mask
      index = range.upperBound
    }
    var rest = scalars[...]
    for (range, mask) in sorted {
      guard range.lowerBound >= index else {
        index = max(index, range.upperBound)
        continue
      }
      if let mask {
        replace(range, by: mask)
        continue
      }
      rest = rest.drop { $0.range.lowerBound < range.lowerBound }
      for (range, mask) in rest.prefix(while: { $0.range.lowerBound < range.upperBound }) { replace(range, by: mask) }
      if index < range.upperBound { replace(range.upperBound..<range.upperBound, by: []) }
    }
    return result + source[index...]
  }
}
