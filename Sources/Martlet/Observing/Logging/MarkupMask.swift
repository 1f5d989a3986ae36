import MartletBase

/// Masks secrets in HTML and XML.
///
/// ```
///   <input name="csrf" value="***">    another attribute names the secret
///   <input data-token="***">           the attribute itself has its name
///   <password>***</password>           so has the element; not in HTML, where `code` is no secret
/// ```
///
/// Also works on the beginning of a document: in a tag without an end, each value that an attribute might name is masked.
struct MarkupMask {
  private let bytes: [UInt8]
  private let redaction: Redaction
  private let isHTML: Bool
  private let lastQuote: Int?
  private let lastApostrophe: Int?
  private var index = 0
  private var result: [UInt8] = []
  /// The element whose content is masked, and how many elements of its name are open.
  private var hidden: (name: ArraySlice<UInt8>, depth: Int)?
  private var folded: [UInt8] = []
  /// The number of examined octets.
  private(set) var steps = 0

  init(_ bytes: [UInt8], _ redaction: Redaction, isHTML: Bool) {
    self.bytes = bytes
    self.redaction = redaction
    self.isHTML = isHTML
    lastQuote = bytes.lastIndex(of: UInt8(ascii: "\""))
    lastApostrophe = bytes.lastIndex(of: UInt8(ascii: "'"))
  }

  mutating func masked() -> [UInt8] {
    guard !redaction.revealsSecrets else { return bytes }
    while index < bytes.count {
      let tag = nextTag()
      copyText(to: tag)
      if tag < bytes.count { copyTag() }
    }
    return result
  }

  // MARK: Text

  /// The index of the next `<` that begins a tag.
  private mutating func nextTag() -> Int {
    var place = index
    defer { steps += place - index }
    while let start = bytes[place...].firstIndex(of: UInt8(ascii: "<")) {
      place = start + 1
      let rest = bytes[place...]
      if rest.starts(with: Self.dataStart) {
        place += Self.dataStart.count
        // Nothing is a tag in there.
        while place < bytes.count, !bytes[place...].starts(with: Self.dataEnd) { place += 1 }
      } else if rest.first.map({ Self.nameStarts.contains($0) }) == true {
        place = start
        return start
      }
    }
    place = bytes.count
    return place
  }

  private mutating func copyText(to end: Int) {
    if hidden != nil, bytes[index..<end].contains(where: { $0 > 0x20 }) {
      result += Self.mask
    } else {
      result += bytes[index..<end]
    }
    index = end
  }

  // MARK: Tags

  private struct Attribute {
    var name: Range<Int>
    var value: Range<Int>
  }

  private mutating func copyTag() {
    let start = index
    index += 1
    let isEnd = bytes[index] == UInt8(ascii: "/")
    if isEnd { index += 1 }
    let name = bytes[take { Self.nameOctets.contains($0) }]
    var attributes: [Attribute] = []
    var isNamed = false
    while let attribute = nextAttribute() {
      attributes.append(attribute)
      isNamed = isNamed || Self.names(bytes[attribute.name]) && hides(bytes[attribute.value])
    }
    let isWhole = index < bytes.count
    let isEmpty = bytes[index - 1] == UInt8(ascii: "/")
    if isWhole { index += 1 }

    var copied = start
    for attribute in attributes where !attribute.value.isEmpty {
      let isValue = Self.isValue(bytes[attribute.name])
      guard isValue && (isNamed || !isWhole || hidden != nil) || hides(bytes[attribute.name]) else { continue }
      result += bytes[copied..<attribute.value.lowerBound]
      result += Self.mask
      copied = attribute.value.upperBound
    }
    result += bytes[copied..<index]
    steps += index - start
    if !isEmpty { note(name, isEnd: isEnd) }
  }

  /// Notes which element is open, if its content is masked.
  private mutating func note(_ name: ArraySlice<UInt8>, isEnd: Bool) {
    if let hidden {
      guard name == hidden.name else { return }
      let depth = hidden.depth + (isEnd ? -1 : 1)
      self.hidden = depth > 0 ? (name, depth) : nil
    } else if !isHTML, !isEnd, hides(name) {
      hidden = (name, 1)
    }
  }

  /// The next attribute of the tag, whose value may be empty; `nil` at the end of the tag or of the text.
  private mutating func nextAttribute() -> Attribute? {
    _ = take { Self.isBlank($0) || $0 == UInt8(ascii: "/") }
    guard index < bytes.count, bytes[index] != UInt8(ascii: ">") else { return nil }
    let name = take { !Self.isBlank($0) && !Self.nameEnds.contains($0) }
    _ = take(while: Self.isBlank)
    guard index < bytes.count, bytes[index] == UInt8(ascii: "=") else {
      // A stray octet, or a name on its own.
      if name.isEmpty { index += 1 }
      return Attribute(name: name, value: index..<index)
    }
    index += 1
    _ = take(while: Self.isBlank)
    guard index < bytes.count, Self.quotes.contains(bytes[index]) else {
      return Attribute(name: name, value: take { !Self.isBlank($0) && $0 != UInt8(ascii: ">") })
    }
    let quote = bytes[index]
    index += 1
    // Without a second quote the value ends with its tag.
    guard let last = quote == UInt8(ascii: "\"") ? lastQuote : lastApostrophe, last >= index else {
      return Attribute(name: name, value: take { $0 != UInt8(ascii: ">") })
    }
    let value = take { $0 != quote }
    index += 1
    return Attribute(name: name, value: value)
  }

  private mutating func take(while belongs: (UInt8) -> Bool) -> Range<Int> {
    let start = index
    while index < bytes.count, belongs(bytes[index]) { index += 1 }
    return start..<index
  }

  /// Whether the values of a name are secret; a prefix (`wsse:`) does not count.
  private mutating func hides(_ name: ArraySlice<UInt8>) -> Bool {
    steps += name.count
    let local = name.lastIndex(of: UInt8(ascii: ":")).map { name[($0 + 1)...] } ?? name
    SecretNames.fold(local, .json, into: &folded)
    return redaction.hides(foldedItem: folded)
  }

  /// Whether an attribute's value is the name of what another attribute of the tag contains.
  private static func names(_ attribute: ArraySlice<UInt8>) -> Bool {
    ["name", "id", "key", "property", "http-equiv"].contains { isSameName(attribute, $0) }
  }

  private static func isValue(_ attribute: ArraySlice<UInt8>) -> Bool {
    ["value", "content"].contains { isSameName(attribute, $0) }
  }

  private static func isSameName(_ name: ArraySlice<UInt8>, _ known: String) -> Bool {
    name.elementsEqual(known.utf8) { FieldSyntax.lowercased($0) == $1 }
  }

  private static func isBlank(_ octet: UInt8) -> Bool { octet <= 0x20 }

  private static let mask = Array("***".utf8)
  private static let dataStart = Array("![CDATA[".utf8)
  private static let dataEnd = Array("]]>".utf8)
  private static let quotes = ASCIISet("\"'")
  private static let nameEnds = ASCIISet("=>/\"'")
  private static let nameStarts = ASCIISet("/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
  private static let nameOctets = ASCIISet(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:")
}
