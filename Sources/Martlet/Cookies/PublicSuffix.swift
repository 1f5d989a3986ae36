/// The Public Suffix List: domains below which anyone can register names.
///
/// The list is from https://publicsuffix.org. A cookie for such a domain would be sent to unrelated sites (RFC 6265bis
/// §5.7). Both sections of the list apply, ICANN and private. A lookup makes two binary searches in the program's
/// constant data, without building a table.
enum PublicSuffix {
  /// Whether a name in lower case and ASCII is a public suffix.
  ///
  /// A single label always is. A trailing dot is ignored.
  static func isSuffix(_ domain: String) -> Bool {
    let name = Name(domain)
    return suffixCount(of: name) >= name.labelCount
  }

  /// The registrable domain: the public suffix and one more label.
  ///
  /// For an address or a public suffix, it is the host itself.
  static func registrable(_ host: String) -> String {
    guard !Cookie.isAddress(host) else { return host }
    let name = Name(host)
    let count = suffixCount(of: name)
    guard count < name.labelCount else { return host }
    return String(decoding: name.bytes[name.starts[name.labelCount - count - 1]...], as: UTF8.self)
  }

  /// A name, split into labels.
  private struct Name {
    let bytes: ArraySlice<UInt8>
    /// The start of each label.
    let starts: [Int]

    init(_ text: String) {
      var bytes = Array(text.utf8)[...]
      if bytes.last == UInt8(ascii: ".") { bytes.removeLast() }
      var starts = bytes.isEmpty ? [] : [0]
      for index in bytes.indices where bytes[index] == UInt8(ascii: ".") { starts.append(index + 1) }
      self.bytes = bytes
      self.starts = starts
    }

    var labelCount: Int { starts.count }
  }

  /// The number of labels in a name's public suffix.
  private static func suffixCount(of name: Name) -> Int {
    guard let top = name.starts.last else { return 0 }
    guard let group = find(name.bytes[top...], in: 0..<rules.utf8CodeUnitCount, dividedBy: UInt8(ascii: "/")) else {
      // An unlisted top-level domain is a public suffix.
      return 1
    }
    var count = group.mark == UInt8(ascii: "*") || group.mark == UInt8(ascii: "+") ? min(2, name.labelCount) : 1
    guard name.labelCount > 1, group.rest.lowerBound < group.rest.upperBound else { return count }
    for labels in 2...name.labelCount {
      let part = name.bytes[name.starts[name.labelCount - labels]..<(top - 1)]
      // No rule is longer than 80 bytes.
      if part.count > 80 { break }
      guard let rule = find(part, in: group.rest, dividedBy: UInt8(ascii: ",")) else { continue }
      switch rule.mark {
      case UInt8(ascii: "!"): return labels - 1
      case UInt8(ascii: "*"): count = labels < name.labelCount ? labels + 1 : count
      case UInt8(ascii: "+"): count = min(labels + 1, name.labelCount)
      default: count = max(count, labels)
      }
    }
    return count
  }

  /// An entry of the list: its mark, 0 for none, and the range after its name and mark.
  private typealias Entry = (mark: UInt8, rest: Range<Int>)

  /// Finds a name in a sorted part of the list.
  private static func find(_ name: ArraySlice<UInt8>, in part: Range<Int>, dividedBy divider: UInt8) -> Entry? {
    let text = UnsafeBufferPointer(start: rules.utf8Start, count: rules.utf8CodeUnitCount)
    var low = part.lowerBound
    var high = part.upperBound
    while low < high {
      // The entry around the middle.
      var start = low + (high - low) / 2
      var end = start
      while start > low, text[start - 1] != divider { start -= 1 }
      while end < high, text[end] != divider { end += 1 }
      var index = start
      var own = name.startIndex
      while own < name.endIndex, index < end, text[index] == name[own] {
        index += 1
        own += 1
      }
      let isEntryOver = index >= end || !ASCIISet.host.contains(text[index])
      if own == name.endIndex && isEntryOver {
        let mark = index < end && isMark(text[index]) ? text[index] : 0
        let rest = min(end, index + (mark == 0 ? 1 : 2))
        return (mark, rest..<end)
      }
      if own == name.endIndex || !isEntryOver && name[own] < text[index] {
        high = start
      } else {
        low = min(high, end + 1)
      }
    }
    return nil
  }

  private static func isMark(_ octet: UInt8) -> Bool {
    octet == UInt8(ascii: "!") || octet == UInt8(ascii: "*") || octet == UInt8(ascii: "+")
  }
}
