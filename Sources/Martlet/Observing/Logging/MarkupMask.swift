import MartletBase

/// Masks secrets in HTML and XML.
///
/// ```
///   <input name="csrf" value="***">                  another attribute names the secret
///   <input data-token="***">  <password value="***"/>  the attribute or the element has a telling name
///   <password>***</password>  <entry key="token">***</entry>  so does the content of an element of XML
/// ```
///
/// Where a tag has no end, or seems to contain another one, each value that an attribute might name is masked. So a
/// truncation cannot undo a mask. Comments, CDATA sections and the values of attributes are searched as documents of their
/// own. Escaped markup (`&lt;`) is text.
struct MarkupMask {
  private let bytes: [UInt8]
  private let redaction: Redaction
  private let isHTML: Bool
  private let keepsTypes: Bool
  /// Whether this is the content of a comment, a section or an attribute, in which there are no others.
  private let isNested: Bool
  private let lastQuote: Int?
  private let lastApostrophe: Int?
  private var index = 0
  private var result: [UInt8] = []
  /// The element whose content is masked, and how many elements of its name are open.
  private var hidden: (element: ArraySlice<UInt8>, name: [UInt8], depth: Int)?
  private var folded: [UInt8] = []
  /// The number of examined octets.
  private(set) var steps = 0

  init(_ bytes: [UInt8], _ redaction: Redaction, isHTML: Bool, keepsTypes: Bool = false, isNested: Bool = false) {
    self.bytes = bytes
    self.redaction = redaction
    self.isHTML = isHTML
    self.keepsTypes = keepsTypes
    self.isNested = isNested
    lastQuote = bytes.lastIndex(of: UInt8(ascii: "\""))
    lastApostrophe = bytes.lastIndex(of: UInt8(ascii: "'"))
  }

  mutating func masked() -> [UInt8] {
    while index < bytes.count {
      let start = bytes[index...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
      copyText(to: start)
      guard index < bytes.count else { break }
      let rest = bytes[(index + 1)...]
      if !isNested, rest.starts(with: Self.commentStart) {
        copySection(Self.commentStart, Self.commentEnd)
      } else if !isNested, !isHTML, rest.starts(with: Self.dataStart) {
        copySection(Self.dataStart, Self.dataEnd)
      } else if rest.first.map(Self.beginsName) == true {
        copyTag()
      } else {
        copyText(to: index + 1)
      }
    }
    return result
  }

  // MARK: Text

  private mutating func copyText(to end: Int) {
    let text = bytes[index..<end]
    result += hidden.map { replacement(of: text, named: $0.name) } ?? text
    steps += text.count
    index = end
  }

  /// What stands for a secret text, in place of all that is not blank.
  private func replacement(of text: ArraySlice<UInt8>, named name: [UInt8]) -> ArraySlice<UInt8> {
    guard let start = text.firstIndex(where: { $0 > 0x20 }), let last = text.lastIndex(where: { $0 > 0x20 }) else {
      return text
    }
    let value = text[start...last]
    // At the end of a text that was cut, it may be the beginning of something else.
    if text.endIndex < bytes.count, BodyMask.isHarmless(value, named: name) { return text }
    return keepsTypes && BodyMask.isNumber(value) ? [UInt8(ascii: "0")] : Self.mask
  }

  /// Copies a comment or a section, which may have no end.
  private mutating func copySection(_ start: [UInt8], _ end: [UInt8]) {
    let content = index + 1 + start.count
    var close = content
    while close < bytes.count, !bytes[close...].starts(with: end) { close += 1 }
    let after = min(close + end.count, bytes.count)
    if hidden != nil {
      result += Self.mask
    } else {
      result += bytes[index..<content]
      result += nested(content..<close)
      result += bytes[close..<after]
    }
    steps += after - index
    index = after
  }

  private mutating func nested(_ range: Range<Int>) -> [UInt8] {
    var inner = MarkupMask(Array(bytes[range]), redaction, isHTML: isHTML, keepsTypes: keepsTypes, isNested: true)
    defer { steps += inner.steps }
    return inner.masked()
  }

  // MARK: Tags

  private struct Attribute {
    var name: Range<Int>
    var value: Range<Int>
    /// The octets that may be masked with the value: more than that in a text without the closing quote.
    var end: Int
    /// Whether the text has no closing quote.
    var isOpen = false
  }

  private mutating func copyTag() {
    let start = index
    index += 1
    let isEnd = bytes[index] == UInt8(ascii: "/")
    if isEnd { index += 1 }
    let element = bytes[take { !Self.isBlank($0) && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ">") }]
    let isOwn = !isHTML && !isEnd && hidesElement(element)
    var name = folded
    var isNamed = isOwn
    var namesContent = isOwn
    var attributes: [Attribute] = []
    while let attribute = nextAttribute() {
      guard attribute.end > attribute.value.lowerBound else { continue }
      attributes.append(attribute)
      let kind = Self.local(bytes[attribute.name])
      guard !attribute.isOpen, Self.isIn(kind, Self.namingAttributes), hides(bytes[attribute.value]) else { continue }
      name = folded
      isNamed = true
      namesContent =
        namesContent || Self.isIn(kind, ["name", "key"]) && (!isHTML || Self.isIn(element, ["textarea"]))
    }
    let isEmpty = bytes[index - 1] == UInt8(ascii: "/")
    var isWhole = index < bytes.count
    if isWhole { index += 1 }
    if attributes.contains(where: { $0.isOpen || hasTag(bytes[$0.value]) }) { isWhole = false }

    var copied = start
    for attribute in attributes where attribute.value.lowerBound >= copied {
      let isValue = Self.isIn(
        Self.local(bytes[attribute.name]), isOwn ? ["value", "content", "id"] : ["value", "content"])
      let value = bytes[attribute.value]
      var shown: [UInt8]?
      let masked = bytes[attribute.value.lowerBound..<attribute.end]
      if hides(bytes[attribute.name]) {
        shown = Array(replacement(of: masked, named: folded))
      } else if hidden != nil || isValue && isNamed {
        shown = Array(replacement(of: masked, named: hidden == nil && isWhole ? name : []))
      } else if isValue, !isWhole, !redaction.revealsSecrets {
        shown = Array(Self.mask)
      }
      let end = shown == nil ? attribute.value.upperBound : attribute.end
      if shown == nil, attribute.isOpen, let tag = firstTag(value) {
        // The `>` may be the end of a tag in the value, which is searched as what follows.
        result += bytes[copied..<tag]
        index = tag
        steps += index - start
        return note(element, name, isEnd: isEnd, isHidden: namesContent)
      }
      if shown == nil, !isNested, hasTag(value) { shown = nested(attribute.value) }
      guard let shown else { continue }
      result += bytes[copied..<attribute.value.lowerBound]
      result += shown
      copied = end
    }
    index = max(index, copied)
    result += bytes[copied..<index]
    steps += index - start
    if isHTML || !isEmpty { note(element, name, isEnd: isEnd, isHidden: namesContent) }
  }

  /// Notes which element is open, if its content is masked.
  private mutating func note(_ element: ArraySlice<UInt8>, _ name: [UInt8], isEnd: Bool, isHidden: Bool) {
    if let hidden {
      // The name says nothing about what other elements in it contain.
      self.hidden?.name = []
      guard element == hidden.element else { return }
      let depth = hidden.depth + (isEnd ? -1 : 1)
      self.hidden = depth > 0 ? (element, [], depth) : nil
    } else if isHidden {
      hidden = (element, name, 1)
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
      if name.isEmpty, index < bytes.count { index += 1 }
      return Attribute(name: name, value: index..<index, end: index)
    }
    index += 1
    _ = take(while: Self.isBlank)
    // In a string of a script, quotes are escaped.
    let isEscaped =
      index + 1 < bytes.count && bytes[index] == UInt8(ascii: "\\") && Self.quotes.contains(bytes[index + 1])
    if isEscaped { index += 1 }
    guard index < bytes.count, Self.quotes.contains(bytes[index]) else {
      let value = take { !Self.isBlank($0) && $0 != UInt8(ascii: ">") && !Self.quotes.contains($0) }
      return Attribute(name: name, value: value, end: value.upperBound)
    }
    let quote = bytes[index]
    index += 1
    guard let last = quote == UInt8(ascii: "\"") ? lastQuote : lastApostrophe, last >= index else {
      // Without a second quote the value ends with its tag, or the text was cut in it.
      return Attribute(name: name, value: take { $0 != UInt8(ascii: ">") }, end: bytes.count, isOpen: true)
    }
    var value = take { $0 != quote }
    index += 1
    if isEscaped, bytes[value].last == UInt8(ascii: "\\") { value = value.dropLast() }
    return Attribute(name: name, value: value, end: value.upperBound)
  }

  private mutating func take(while belongs: (UInt8) -> Bool) -> Range<Int> {
    let start = index
    while index < bytes.count, belongs(bytes[index]) { index += 1 }
    return start..<index
  }

  // MARK: Names

  /// Whether the values of a name are secret; folds it.
  private mutating func hides(_ name: ArraySlice<UInt8>) -> Bool {
    steps += name.count
    var local = Self.local(name)
    if Self.isIn(local.prefix(5), ["data-"]) { local = local.dropFirst(5) }
    folded = SecretNames.folded(local)
    return redaction.hides(foldedItem: folded)
  }

  /// `key` and `code` are no secrets as elements (`<Key>photo.jpg</Key>`), unless the program says so.
  private mutating func hidesElement(_ name: ArraySlice<UInt8>) -> Bool {
    hides(name) && (redaction.isAdded(foldedItem: folded) || !Self.harmlessElements.contains(folded))
  }

  private func firstTag(_ value: ArraySlice<UInt8>) -> Int? {
    value.indices.dropLast().first { value[$0] == UInt8(ascii: "<") && Self.beginsName(value[$0 + 1]) }
  }

  private func hasTag(_ value: ArraySlice<UInt8>) -> Bool { firstTag(value) != nil }

  /// A name without its prefix (`wsse:`).
  private static func local(_ name: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    name.lastIndex(of: UInt8(ascii: ":")).map { name[($0 + 1)...] } ?? name
  }

  private static func isIn(_ name: ArraySlice<UInt8>, _ known: [String]) -> Bool {
    known.contains { name.elementsEqual($0.utf8) { FieldSyntax.lowercased($0) == $1 } }
  }

  /// Whether an octet after `<` begins a name, or a tag that ends an element.
  private static func beginsName(_ octet: UInt8) -> Bool { octet >= 0x80 || nameStarts.contains(octet) }

  private static func isBlank(_ octet: UInt8) -> Bool { octet <= 0x20 }

  /// Attributes whose value is the name of what another attribute, or the element, contains.
  private static let namingAttributes = ["name", "id", "key", "property", "http-equiv"]
  private static let harmlessElements: Set<[UInt8]> = [Array("key".utf8), Array("code".utf8)]
  private static let mask = Array("***".utf8)[...]
  private static let commentStart = Array("!--".utf8)
  private static let commentEnd = Array("-->".utf8)
  private static let dataStart = Array("![CDATA[".utf8)
  private static let dataEnd = Array("]]>".utf8)
  private static let quotes = ASCIISet("\"'")
  private static let nameEnds = ASCIISet("=>/\"'")
  private static let nameStarts = ASCIISet("/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
}
