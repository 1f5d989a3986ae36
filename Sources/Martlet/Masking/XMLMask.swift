import MartletBase

/// Masks secrets in well-formed XML.
///
/// ```
///   <password>***</password>            the element or the attribute has a telling name
///   <add key="ApiKey" value="***"/>     an attribute names what the element contains
///   <key>token</key><string>***</string>   the element before or after contains a telling name
/// ```
///
/// Structure remains. Text that is not well-formed, is truncated or declares entities is not XML here: a telling name may
/// be missing or mean something else.
struct XMLMask {
  private struct Element {
    var name: ArraySlice<UInt8>
    var start: Int
    var content: Int
    var isHidden: Bool
    /// The beginning of the text in the element, decoded.
    var text: [UInt8] = []
    /// The last child, and whether it contains a telling name.
    var child: (range: Range<Int>, isName: Bool)?
  }

  private static let maximumDepth = 256

  private let bytes: [UInt8]
  private let redaction: Redaction
  private let keepsTypes: Bool
  private var index = 0
  private var edits = MaskEdits()
  private var open: [Element] = []
  private var hasRoot = false
  /// The number of examined octets.
  private(set) var steps = 0

  init(_ bytes: [UInt8], _ redaction: Redaction, keepsTypes: Bool = false) {
    (self.bytes, self.redaction, self.keepsTypes) = (bytes, redaction, keepsTypes)
  }

  /// The document with its secrets masked, or `nil` if it is not well-formed.
  mutating func masked() -> [UInt8]? {
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
    while index < bytes.count {
      let start = index
      guard node() else { return nil }
      steps += index - start
    }
    return open.isEmpty && hasRoot ? edits.applied(to: bytes) : nil
  }

  /// Parses a tag or what is between two tags; returns whether it is well-formed.
  private mutating func node() -> Bool {
    let start = index
    if take("<!--") {
      guard let comment = range(to: "-->") else { return false }
      let plain = Array(bytes[comment])
      if TextMask.maskedIfUnsuspicious(plain, redaction) != plain { edits.mask(comment) }
      recordScalar(comment)
    } else if take("<![CDATA[") {
      guard !open.isEmpty, let section = range(to: "]]>") else { return false }
      add(Array(bytes[section]), at: section, isSection: true)
    } else if take("<?") {
      guard let instruction = range(to: "?>") else { return false }
      // An instruction may contain anything; the declaration may not.
      if !bytes[instruction].starts(with: "xml ".utf8) { edits.mask(instruction) }
      recordScalar(instruction)
    } else if take("<!DOCTYPE") {
      guard open.isEmpty, let type = range(to: ">"), !bytes[type].contains(UInt8(ascii: "[")) else { return false }
    } else if take("</") {
      let name = self.name()
      skipBlanks()
      guard take(">"), open.last?.name == name else { return false }
      close(start)
    } else if take("<") {
      return startTag(start)
    } else {
      index = bytes[index...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
      guard bytes[start..<index].contains(where: { $0 > 0x20 }) else { return true }
      guard !open.isEmpty, let plain = Self.decoded(bytes[start..<index]) else { return false }
      add(plain, at: start..<index)
    }
    return true
  }

  // MARK: Text

  private mutating func take(_ mark: StaticString) -> Bool {
    guard mark.withUTF8Buffer({ bytes[index...].starts(with: $0) }) else { return false }
    index += mark.utf8CodeUnitCount
    return true
  }

  /// Skips past a mark; returns the range before it.
  private mutating func range(to mark: StaticString) -> Range<Int>? {
    let start = index
    while index < bytes.count {
      let end = index
      if take(mark) { return start..<end }
      index += 1
    }
    return nil
  }

  private mutating func name() -> ArraySlice<UInt8> {
    let start = index
    while index < bytes.count, bytes[index] >= 0x80 || Self.nameOctets.contains(bytes[index]) { index += 1 }
    return bytes[start..<index]
  }

  private mutating func skipBlanks() {
    while index < bytes.count, bytes[index] <= 0x20 { index += 1 }
  }

  /// Adds text of the innermost element.
  private mutating func add(_ plain: [UInt8], at range: Range<Int>, isSection: Bool = false) {
    // Longer text is not a name.
    if let last = open.indices.last, open[last].text.count <= SecretNames.maximumLength { open[last].text += plain }
    maskText(plain, at: range, isSection: isSection)
  }

  /// Masks secrets in text, or in the value of an attribute.
  private mutating func maskText(_ plain: [UInt8], at range: Range<Int>, isSection: Bool = false) {
    recordScalar(range)
    guard TextMask.hasMarks(plain) else { return }
    let masked = TextMask.masked(plain, redaction, level: 1)
    if masked != plain { edits.mask(range, by: isSection ? MaskEdits.mask : Self.encoded(masked)) }
  }

  private mutating func recordScalar(_ range: Range<Int>) {
    guard let first = bytes[range].firstIndex(where: { $0 > 0x20 }),
      let last = bytes[range].lastIndex(where: { $0 > 0x20 })
    else { return }
    let value = bytes[first...last]
    guard !JSONMask.isHarmless(value, named: []) else { return }
    edits.scalar(first..<(last + 1), keepsTypes && JSONMask.isNumber(value) ? JSONMask.zero : MaskEdits.mask)
  }

  // MARK: Tags

  private mutating func startTag(_ start: Int) -> Bool {
    let name = self.name()
    guard !name.isEmpty, open.count < Self.maximumDepth, !open.isEmpty || !hasRoot else { return false }
    hasRoot = true
    let folded = SecretNames.folded(Self.local(name))
    var isHidden =
      redaction.hides(foldedItem: folded)
      && (redaction.isAdded(foldedItem: folded) || !SecretNames.isHarmlessElement(folded))
    var isNamed = isHidden
    var values: [Range<Int>] = []
    var isEmpty = false
    while true {
      let end = index
      skipBlanks()
      isEmpty = take("/>")
      if isEmpty || take(">") { break }
      guard index > end, let (attribute, value) = self.attribute(), let plain = Self.decoded(bytes[value]) else {
        return false
      }
      maskText(plain, at: value)
      let name = SecretNames.folded(attribute)
      let isNaming = SecretNames.naming.contains(name)
      if isNaming, isSecretName(plain) {
        isNamed = true
        // An identifier of an element says nothing about its content.
        if name != Array("id".utf8) { isHidden = true }
      } else if redaction.hides(name: attribute) || isHidden && name == Array("id".utf8) {
        edits.maskScalars(in: value)
      } else if !isNaming {
        values.append(value)
      }
    }
    if isNamed { values.forEach { edits.maskScalars(in: $0) } }
    open.append(Element(name: name, start: start, content: index, isHidden: isHidden))
    if isEmpty { close(index) }
    return true
  }

  /// Parses an attribute; returns its name without the prefix.
  private mutating func attribute() -> (name: ArraySlice<UInt8>, value: Range<Int>)? {
    let name = self.name()
    skipBlanks()
    guard !name.isEmpty, take("=") else { return nil }
    skipBlanks()
    guard index < bytes.count, Self.quotes.contains(bytes[index]) else { return nil }
    let start = index + 1
    guard let end = bytes[start...].firstIndex(of: bytes[index]), !bytes[start..<end].contains(UInt8(ascii: "<")) else {
      return nil
    }
    index = end + 1
    return (Self.local(name), start..<end)
  }

  /// Closes the innermost element, whose content ends at an index.
  private mutating func close(_ end: Int) {
    guard let element = open.popLast() else { return }
    if element.isHidden { edits.maskScalars(in: element.content..<end) }
    guard let last = open.indices.last else { return }
    let isName = element.child == nil && !element.text.isEmpty && isSecretName(element.text)
    let child = (range: element.start..<index, isName: isName)
    if let previous = open[last].child, previous.isName != child.isName {
      edits.maskScalars(in: child.isName ? previous.range : child.range)
    }
    open[last].child = child
  }

  private func isSecretName(_ text: [UInt8]) -> Bool {
    text.count <= SecretNames.maximumLength && !redaction.hidesBodies && redaction.hides(name: text[...])
  }

  // MARK: Escapes

  private static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    DecodedText.replacing(UInt8(ascii: "&"), in: text, DecodedText.entity)
  }

  private static func encoded(_ text: [UInt8]) -> [UInt8] { text.flatMap { entities[$0] ?? [$0] } }

  /// A name without its prefix (`wsse:`).
  private static func local(_ name: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    name.lastIndex(of: UInt8(ascii: ":")).map { name[($0 + 1)...] } ?? name
  }

  private static let entities = [
    UInt8(ascii: "&"): Array("&amp;".utf8), UInt8(ascii: "<"): Array("&lt;".utf8),
    UInt8(ascii: "\""): Array("&quot;".utf8), UInt8(ascii: "'"): Array("&#39;".utf8),
  ]
  private static let quotes = ASCIISet("\"'")
  private static let nameOctets = ASCIISet(ASCIISet.alphanumerics + "_:-.")
}
