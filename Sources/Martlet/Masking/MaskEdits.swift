import MartletBase

/// The masks of a text, in any order.
struct MaskEdits {
  enum Replacement {
    case octets([UInt8])
    /// A value of JSON, which keeps its type if the result is to be decoded.
    case json
    /// Elements of XML, which keep their structure.
    case xml

    /// Of two replacements of a range, one that shows a part of it comes last.
    fileprivate var rank: Int { if case .octets = self { 1 } else { 0 } }
  }

  private(set) var edits: [(range: Range<Int>, replacement: Replacement)] = []
  let keepsTypes: Bool

  init(keepsTypes: Bool = false) { self.keepsTypes = keepsTypes }

  static let mask = Array("***".utf8)

  var count: Int { edits.count }

  /// Masks a range of the source.
  mutating func mask(_ range: Range<Int>) { edits.append((range, .octets(Self.mask))) }

  mutating func replace(_ range: Range<Int>, by replacement: Replacement) { edits.append((range, replacement)) }

  /// Drops the edits after the first ones.
  mutating func keep(_ count: Int) { edits.removeLast(edits.count - count) }

  /// The source with its masks; the first and the longest of overlapping masks counts.
  func applied(to source: [UInt8]) -> [UInt8] {
    guard !edits.isEmpty else { return source }
    let sorted = edits.sorted {
      ($0.range.lowerBound, -$0.range.upperBound, $0.replacement.rank)
        < ($1.range.lowerBound, -$1.range.upperBound, $1.replacement.rank)
    }
    var result: [UInt8] = []
    result.reserveCapacity(source.count)
    var index = 0
    for (range, replacement) in sorted {
      guard range.lowerBound >= index else {
        index = max(index, range.upperBound)
        continue
      }
      result += source[index..<range.lowerBound]
      switch replacement {
      case .octets(let octets): result += octets
      case .json: result += keepsTypes ? JSONMask.scalarsMasked(source[range]) : JSONMask.mask
      case .xml: result += XMLMask.textsMasked(source[range], keepsTypes: keepsTypes)
      }
      index = range.upperBound
    }
    return result + source[index...]
  }
}
