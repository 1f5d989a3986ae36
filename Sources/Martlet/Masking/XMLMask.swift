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
    /// The only text in the element, decoded.
    var text: [UInt8]?
    /// The children, and whether each contains a telling name.
    var children: [(range: Range<Int>, isName: Bool)] = []
  }

  private static let maximumDepth = 256

  private let bytes: [UInt8]
  private let redaction: Redaction
  private var index = 0
  private var edits: MaskEdits
  private var open: [Element] = []
  /// The number of examined octets.
  private(set) var steps = 0

  init(_ bytes: [UInt8], _ redaction: Redaction, keepsTypes: Bool = false) {
    (self.bytes, self.redaction) = (bytes, redaction)
    edits = MaskEdits(keepsTypes: keepsTypes)
  }

  /// The document with its secrets masked, or `nil` if it is not well-formed.
  mutating func masked() -> [UInt8]? {
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
    var hasRoot = false
    while index < bytes.count {
      let start = index
      defer { steps += index - start }
      if bytes[index] != UInt8(ascii: "<") {
        guard text() else { return nil }
      } else if has("<!--") {
        guard comment() else { return nil }
      } else if has("<![CDATA[") {
        guard !open.isEmpty, section() else { return nil }
      } else if has("<?") {
        guard skip(past: "?>") else { return nil }
        // An instruction may contain anything; the declaration may not.
        if !bytes[start...].starts(with: "<?xml ".utf8) { edits.mask((start + 2)..<(index - 2)) }
      } else if has("<!DOCTYPE") {
        guard skip(past: ">"), !bytes[start..<index].contains(UInt8(ascii: "[")) else { return nil }
      } else if has("</") {
        guard endTag() else { return nil }
      } else {
        guard !open.isEmpty || !hasRoot, startTag() else { return nil }
        hasRoot = true
      }
    }
    return open.isEmpty && hasRoot ? edits.applied(to: bytes) : nil
  }

  private func has(_ text: StaticString) -> Bool {
    text.withUTF8Buffer { bytes[index...].starts(with: $0) }
  }

  /// Skips to the end of a mark; returns whether it is there.
  private mutating func skip(past mark: String) -> Bool {
    let mark = Array(mark.utf8)
    while index + mark.count <= bytes.count {
      if bytes[index...].starts(with: mark) {
        index += mark.count
        return true
      }
      index += 1
    }
    return false
  }

  // MARK: Text

  private mutating func text() -> Bool {
    let end = bytes[index...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
    let range = index..<end
    index = end
    let isBlank = bytes[range].allSatisfy { $0 <= 0x20 }
    if open.isEmpty { return isBlank }
    if isBlank { return true }
    guard let plain = Self.decoded(bytes[range]) else { return false }
    add(plain, at: range)
    return true
  }

  private mutating func section() -> Bool {
    let start = index + 9
    guard skip(past: "]]>") else { return false }
    let range = start..<(index - 3)
    let plain = Array(bytes[range])
    add(plain, at: range, isSection: true)
    return true
  }

  private mutating func comment() -> Bool {
    let start = index + 4
    index = start
    guard skip(past: "-->") else { return false }
    let range = start..<(index - 3)
    if TextMask.maskedIfUnsuspicious(Array(bytes[range]), redaction).map({ $0 != Array(bytes[range]) }) ?? true {
      edits.mask(range)
    }
    return true
  }

  private mutating func add(_ plain: [UInt8], at range: Range<Int>, isSection: Bool = false) {
    guard let last = open.indices.last else { return }
    open[last].text = (open[last].text ?? []) + plain
    guard let masked = Self.masked(plain, redaction) else { return }
    edits.replace(range, by: .octets(isSection ? MaskEdits.mask : Self.encoded(masked)))
  }

  /// Text or the value of an attribute with its secrets masked, or `nil` if it has none.
  private static func masked(_ plain: [UInt8], _ redaction: Redaction) -> [UInt8]? {
    guard TextMask.hasMarks(plain) else { return nil }
    let masked = TextMask.masked(plain, redaction, level: 1)
    return masked == plain ? nil : masked
  }

  // MARK: Tags

  private mutating func startTag() -> Bool {
    let start = index
    index += 1
    let name = self.name()
    guard !name.isEmpty, open.count < Self.maximumDepth else { return false }
    let folded = SecretNames.folded(Self.local(name))
    var isHidden =
      redaction.hides(foldedItem: folded)
      && (redaction.isAdded(foldedItem: folded) || !SecretNames.isHarmlessElement(folded))
    var values: [Range<Int>] = []
    var isNamed = isHidden
    while true {
      let hasBlank = skipBlanks()
      guard index < bytes.count else { return false }
      if bytes[index] == UInt8(ascii: ">") || bytes[index] == UInt8(ascii: "/") { break }
      guard hasBlank, let (attribute, value) = self.attribute(), let plain = Self.decoded(bytes[value]) else {
        return false
      }
      let name = SecretNames.folded(Self.local(attribute))
      let isNaming = SecretNames.naming.contains(name)
      if isNaming, isSecretName(plain) {
        isNamed = true
        // An identifier of an element says nothing about its content.
        if name != Array("id".utf8) { isHidden = true }
      } else if redaction.hides(name: Self.local(attribute)) || isHidden && name == Array("id".utf8) {
        hide(value)
      } else {
        if let masked = Self.masked(plain, redaction) { edits.replace(value, by: .octets(Self.encoded(masked))) }
        if !isNaming { values.append(value) }
      }
    }
    if isNamed { values.forEach { hide($0) } }
    let isEmpty = bytes[index] == UInt8(ascii: "/")
    if isEmpty { index += 1 }
    guard index < bytes.count, bytes[index] == UInt8(ascii: ">") else { return false }
    index += 1
    open.append(Element(name: name, start: start, content: index, isHidden: isHidden))
    if isEmpty { close(index) }
    return true
  }

  private mutating func endTag() -> Bool {
    let end = index
    index += 2
    let name = self.name()
    _ = skipBlanks()
    guard index < bytes.count, bytes[index] == UInt8(ascii: ">"), let last = open.last, last.name == name else {
      return false
    }
    index += 1
    close(end)
    return true
  }

  /// Closes the innermost element, whose content ends at an index.
  private mutating func close(_ end: Int) {
    guard let element = open.popLast() else { return }
    let isName = element.children.isEmpty && element.text.map { isSecretName($0) } ?? false
    if element.isHidden {
      hide(element.content..<end)
    } else {
      for (number, child) in element.children.enumerated() where child.isName {
        if number > 0, !element.children[number - 1].isName { hide(element.children[number - 1].range) }
        if number + 1 < element.children.count, !element.children[number + 1].isName {
          hide(element.children[number + 1].range)
        }
      }
    }
    guard let last = open.indices.last else { return }
    open[last].children.append((element.start..<index, isName))
  }

  private mutating func attribute() -> (name: ArraySlice<UInt8>, value: Range<Int>)? {
    let name = self.name()
    _ = skipBlanks()
    guard !name.isEmpty, index < bytes.count, bytes[index] == UInt8(ascii: "=") else { return nil }
    index += 1
    _ = skipBlanks()
    guard index < bytes.count, Self.quotes.contains(bytes[index]) else { return nil }
    let quote = bytes[index]
    index += 1
    let start = index
    while index < bytes.count, bytes[index] != quote {
      if bytes[index] == UInt8(ascii: "<") { return nil }
      index += 1
    }
    guard index < bytes.count else { return nil }
    index += 1
    return (name, start..<(index - 1))
  }

  private mutating func name() -> ArraySlice<UInt8> {
    let start = index
    while index < bytes.count, bytes[index] >= 0x80 || Self.nameOctets.contains(bytes[index]) { index += 1 }
    return bytes[start..<index]
  }

  private mutating func skipBlanks() -> Bool {
    let start = index
    while index < bytes.count, bytes[index] <= 0x20 { index += 1 }
    return index > start
  }

  private mutating func hide(_ range: Range<Int>) {
    let content = bytes[range]
    guard content.contains(where: { $0 > 0x20 }) else { return }
    edits.replace(range, by: .xml)
  }

  private func isSecretName(_ text: [UInt8]) -> Bool {
    guard text.count <= SecretNames.maximumLength, !redaction.hidesBodies else { return false }
    return redaction.hides(name: text[...])
  }

  // MARK: Rendering

  /// Well-formed content with its texts and the values of its attributes masked.
  static func textsMasked(_ content: ArraySlice<UInt8>, keepsTypes: Bool) -> [UInt8] {
    var result: [UInt8] = []
    var index = content.startIndex
    /// Appends what comes before a mark, as it is or masked.
    func take(to end: Int, isShown: Bool) {
      let part = content[index..<end]
      if isShown {
        result += part
      } else if let first = part.firstIndex(where: { $0 > 0x20 }), let last = part.lastIndex(where: { $0 > 0x20 }) {
        let value = part[first...last]
        result += part[..<first]
        result +=
          keepsTypes && JSONMask.isNumber(value)
          ? [UInt8(ascii: "0")] : JSONMask.isHarmless(value, named: []) ? Array(value) : MaskEdits.mask
        result += part[(last + 1)...]
      } else {
        result += part
      }
      index = end
    }
    // The value of an attribute has no tags.
    while index < content.endIndex {
      let start = content[index...].firstIndex(of: UInt8(ascii: "<")) ?? content.endIndex
      take(to: start, isShown: false)
      guard index < content.endIndex else { break }
      if content[index...].starts(with: "<!".utf8) || content[index...].starts(with: "<?".utf8) {
        let isSection = content[index...].starts(with: "<![CDATA[".utf8)
        let mark = Array((isSection ? "]]>" : content[index...].starts(with: "<!--".utf8) ? "-->" : ">").utf8)
        while index < content.endIndex, !content[index...].starts(with: mark) { index += 1 }
        index = min(index + mark.count, content.endIndex)
        if isSection { result += MaskEdits.mask }
        continue
      }
      var quote: UInt8?
      while index < content.endIndex {
        let octet = content[index]
        if let open = quote {
          let end = content[index...].firstIndex(of: open) ?? content.endIndex
          take(to: end, isShown: false)
          quote = nil
          take(to: min(end + 1, content.endIndex), isShown: true)
        } else {
          if quotes.contains(octet) { quote = octet }
          take(to: index + 1, isShown: true)
          if octet == UInt8(ascii: ">") { break }
        }
      }
    }
    return result
  }

  private static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    guard text.contains(UInt8(ascii: "&")) else { return Array(text) }
    let text = Array(text)
    var result: [UInt8] = []
    var index = 0
    while index < text.count {
      guard text[index] == UInt8(ascii: "&") else {
        result.append(text[index])
        index += 1
        continue
      }
      guard let (scalar, length) = DecodedText.entity(text, index) else { return nil }
      result += String(scalar).utf8
      index += length
    }
    return result
  }

  private static func encoded(_ text: [UInt8]) -> [UInt8] {
    text.flatMap { octet -> [UInt8] in
      switch octet {
      case UInt8(ascii: "&"): Array("&amp;".utf8)
      case UInt8(ascii: "<"): Array("&lt;".utf8)
      case UInt8(ascii: "\""): Array("&quot;".utf8)
      case UInt8(ascii: "'"): Array("&#39;".utf8)
      default: [octet]
      }
    }
  }

  /// A name without its prefix (`wsse:`).
  private static func local(_ name: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    name.lastIndex(of: UInt8(ascii: ":")).map { name[($0 + 1)...] } ?? name
  }

  private static let quotes = ASCIISet("\"'")
  private static let nameOctets = ASCIISet(ASCIISet.alphanumerics + "_:-.")
}
