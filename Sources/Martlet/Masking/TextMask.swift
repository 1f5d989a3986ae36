import MartletBase

/// Masks secrets in text that no parser handles as a whole: log lines, messages, header fields, strings.
///
/// ```
///   password=***    token: ***    "apiKey": "***"    Bearer ***    https://a.test/?code=***
/// ```
///
/// Decodes all escapes first (``DecodedText``), so `password\u003d…` and `%22password%22%3A…` are found. A delimiter ends
/// a value only if it belongs to the syntax of the value or to an outer one. JSON in the text is masked as JSON, and
/// markup with a telling name is masked as a whole.
struct TextMask {
  private static let maximumLevel = 6

  private let source: [UInt8]
  private let text: DecodedText
  private let redaction: Redaction
  private let level: Int
  private var edits = MaskEdits()
  private var index = 0
  /// The last octets that could be a name, followed only by blanks, quotes and brackets.
  private var name = 0..<0
  private var isQuoted = false
  /// Whether an odd number of quotes precedes it on the line.
  private var isInQuotes = false
  private var isInAngles = false
  /// The end of the text without blanks or quotes around the last URL.
  private var runEnd = 0
  private var markupEnd = 0
  /// The end of the last value whose percent-encoding was decoded.
  private var encodedEnd = 0
  /// The number of octets that failed attempts to parse JSON may examine.
  private var attempts: Int
  /// Whether a telling name occurs, even without a value.
  private(set) var hasName = false
  /// Whether the text ends in a tag of markup.
  private(set) var endsInTag = false
  /// The number of examined octets.
  private(set) var steps = 0

  private var octets: [UInt8] { text.octets }

  init(_ source: [UInt8], _ redaction: Redaction, level: Int = 0) {
    (self.source, self.redaction, self.level) = (source, redaction, level)
    text = DecodedText(source)
    attempts = 4 * source.count
    steps = text.steps
  }

  /// Whether text could contain a secret.
  static func hasMarks(_ text: some Collection<UInt8>) -> Bool {
    // `Bearer` and a short token.
    text.count >= 13 || text.contains(where: marks.contains)
  }

  /// The value of an item of a query or a form, decoded; without a truncated triplet at its end.
  static func decoded(_ value: ArraySlice<UInt8>) -> [UInt8] {
    let mark = value.suffix(2).firstIndex(of: UInt8(ascii: "%")) ?? value.endIndex
    return PercentEncoding.decode(value[..<mark], plusAsSpace: true)
  }

  static func masked(_ source: [UInt8], _ redaction: Redaction, level: Int = 0) -> [UInt8] {
    guard level < maximumLevel else { return redaction.revealsSecrets ? source : MaskEdits.mask }
    var mask = TextMask(source, redaction, level: level)
    return mask.masked()
  }

  /// The text masked, or `nil` if it contains a telling name, whose value could be anywhere.
  static func maskedIfUnsuspicious(_ source: [UInt8], _ redaction: Redaction) -> [UInt8]? {
    var mask = TextMask(source, redaction)
    let masked = mask.masked()
    return mask.hasName || mask.endsInTag && !redaction.revealsSecrets ? nil : masked
  }

  @inline(never) mutating func masked() -> [UInt8] {
    guard text.isWhole || redaction.revealsSecrets else {
      hasName = true
      return MaskEdits.mask
    }
    while index < octets.count {
      let start = index
      step(octets[index])
      // Each step examines the octets up to the next one.
      steps += index - start
    }
    endName()
    return edits.applied(to: source)
  }

  private mutating func step(_ octet: UInt8) {
    switch octet {
    case UInt8(ascii: "["), UInt8(ascii: "{"):
      if !maskJSON(at: index) { takeName(octet) }
    case UInt8(ascii: "="), UInt8(ascii: ":"): maskValue()
    case UInt8(ascii: ","): maskRest()
    case UInt8(ascii: "/"):
      reset(to: index + 1)
      if index < octets.count, octets[index] == octet { maskURL() }
    case UInt8(ascii: "<"):
      reset(to: index + 1)
      isInAngles = true
      if index > markupEnd { maskMarkup() }
    case UInt8(ascii: " "), UInt8(ascii: "\t"): if !maskBearer() { takeGap() }
    case _ where Self.gaps.contains(octet): takeGap()
    default: takeName(octet)
    }
  }

  // MARK: Names

  private mutating func takeName(_ octet: UInt8) {
    guard Self.nameOctets.contains(octet) else {
      if octet == 0x0A { (isInQuotes, isInAngles) = (false, false) }
      if octet == UInt8(ascii: ">") { isInAngles = false }
      return reset(to: index + 1)
    }
    if octet == UInt8(ascii: "]"), isQuoted, !name.isEmpty { return takeGap() }
    if name.upperBound != index {
      endName()
      (name, isQuoted) = (index..<index, false)
    }
    name = name.lowerBound..<(index + 1)
    index += 1
  }

  private mutating func takeGap() {
    if octets[index] == UInt8(ascii: "\""), maskString() { return }
    if Self.quotes.contains(octets[index]) { isQuoted = true }
    if octets[index] == UInt8(ascii: "\"") { isInQuotes.toggle() }
    index += 1
  }

  private mutating func reset(to end: Int) {
    endName()
    (name, isQuoted, index) = (end..<end, false, end)
  }

  /// Masks a name that is a secret itself, and records a telling one.
  private mutating func endName() {
    guard !name.isEmpty else { return }
    if !redaction.revealsSecrets, SecretShapes.isToken(octets[name]) { mask(name.lowerBound, name.upperBound) }
    if !hasName, hidesMarkup(name) { hasName = true }
    name = name.upperBound..<name.upperBound
  }

  /// Whether a name is telling, even in markup; `<key>` and `<code>` are elements of many documents, and no secrets.
  private mutating func hidesMarkup(_ name: Range<Int>) -> Bool {
    let before = octets[..<name.lowerBound].suffix(2)
    let isElement = before.last == UInt8(ascii: "<") || before.elementsEqual("</".utf8)
    return !(isElement && SecretNames.isHarmlessElement(SecretNames.folded(octets[name]))) && hides(name)
  }

  private mutating func hides(_ name: Range<Int>) -> Bool {
    guard !name.isEmpty else { return false }
    steps += name.count
    let isItem = name.lowerBound > 0 && Self.itemMarks.contains(octets[name.lowerBound - 1])
    return redaction.hidesBodies && isItem || redaction.isTelling(octets[name])
  }

  // MARK: Values

  /// Masks the value after a `=` or a `:`, if its name is telling.
  private mutating func maskValue() {
    let separator = index
    let isColon = octets[index] == UInt8(ascii: ":")
    var start = index + 1
    guard hides(name) else {
      if isColon, SecretShapes.isBot(octets[name]) {
        let end = octets[start...].firstIndex { !Self.nameOctets.contains($0) } ?? octets.count
        if end - start >= 20, !redaction.revealsSecrets { return hide(start, end) }
      }
      if !isColon { maskEncoded(separator) }
      return reset(to: max(index, separator + 1))
    }
    hasName = true
    while start < octets.count, Self.separators.contains(octets[start]) { start += 1 }
    let folded = SecretNames.folded(octets[name])
    let isWeak = isColon && !isQuoted && redaction.isWeak(foldedItem: folded)
    let isQuotedName = isQuoted
    let first = start
    while start < octets.count, Self.blanks.contains(octets[start]) || isQuotedName && octets[start] <= 0x20 {
      start += 1
    }
    guard start < octets.count else {
      if !isColon { mask(first, first) }
      return reset(to: octets.count)
    }
    if Self.quotes.contains(octets[start]) {
      let end = endOfQuoted(start)
      return hide(start + 1, end, next: min(end + 1, octets.count))
    }
    if octets[start] == UInt8(ascii: "{") || octets[start] == UInt8(ascii: "[") {
      return hide(start, endOfStructure(start))
    }
    if isWeak { return reset(to: start) }
    var end = start
    while end < octets.count, !isEnd(end, separator, isColon: isColon, isQuotedName: isQuotedName) { end += 1 }
    // The punctuation of a sentence is not part of the value.
    if !isColon {
      while end > start, Self.punctuation.contains(octets[end - 1]), end == octets.count || octets[end] <= 0x20 {
        end -= 1
      }
    }
    if isQuotedName, JSONMask.isHarmless(octets[start..<end], named: folded) { return reset(to: end) }
    if end > start || !isColon { mask(end > start ? start : first, end > start ? end : first) }
    reset(to: max(end, first))
  }

  /// Masks the value of a harmless name that contains a secret when its percent-encoding is decoded once.
  private mutating func maskEncoded(_ separator: Int) {
    // The first value of several includes the others.
    guard separator >= encodedEnd, text.isPlain(separator) else { return }
    let start = separator + 1
    let end = first(from: start) { isEnd($0, separator, isColon: false, isQuotedName: false) }
    encodedEnd = end
    let value = source[text.source(start)..<text.source(end)]
    steps += value.count
    guard value.contains(UInt8(ascii: "%")) else { return }
    let plain = Self.decoded(value)
    guard TextMask.masked(plain, redaction, level: level + 1) != plain else { return }
    mask(start, end)
    hasName = true
    index = end
  }

  /// Masks a string whose content, with its escapes decoded once, contains a secret.
  private mutating func maskString() -> Bool {
    guard text.isPlain(index) else { return false }
    let start = index + 1
    let end = first(from: start) { octets[$0] == UInt8(ascii: "\"") && text.isPlain($0) }
    let content = source[text.source(start)..<text.source(end)]
    steps += content.count
    guard content.contains(UInt8(ascii: "\\")) else { return false }
    let plain = JSONMask.decoded(content)
    guard TextMask.masked(plain, redaction, level: level + 1) != plain else { return false }
    hide(start, end, next: min(end + 1, octets.count))
    return true
  }

  private func isEnd(_ index: Int, _ separator: Int, isColon: Bool, isQuotedName: Bool) -> Bool {
    let octet = octets[index]
    guard octet <= 0x20 || Self.valueEnds.contains(octet) || isQuotedName && Self.memberEnds.contains(octet) else {
      return false
    }
    guard text.encloses(index, separator) else { return false }
    // A mark that is not in pairs may be part of the value.
    if octet == UInt8(ascii: "\""), !isInQuotes, text.isSameLayer(index, separator) { return false }
    if octet == UInt8(ascii: ">"), !isInAngles { return false }
    // After a colon, the value is the rest of the line, such as that of a header field.
    if isColon, !isQuotedName {
      return octet == 0x0A || octet == 0x0D
        || Self.quotes.contains(octet) && !text.isSameLayer(index, separator)
    }
    return true
  }

  /// The index of the quote that ends a value, or of the end of the text.
  private func endOfQuoted(_ start: Int) -> Int {
    var index = start + 1
    while index < octets.count {
      let octet = octets[index]
      if octet == octets[start], text.isSameLayer(index, start) {
        // A doubled quote stands for a quote.
        guard index + 1 < octets.count, octets[index + 1] == octet, text.isSameLayer(index + 1, start) else {
          return index
        }
        index += 1
      } else if octet == UInt8(ascii: "\""), !text.isSameLayer(index, start), text.encloses(index, start) {
        return index
      }
      index += 1
    }
    return index
  }

  /// The end of JSON, or of the text if the end of the structure cannot be found.
  private mutating func endOfStructure(_ start: Int) -> Int {
    guard text.isPlain(start), attempts > 0 else { return octets.count }
    let (json, end) = parseJSON(at: start)
    return end == .whole ? decodedIndex(of: json.index, from: start) : octets.count
  }

  /// Masks the rest of the line after a telling name between quotes, such as `"name":"password",`.
  private mutating func maskRest() {
    guard isQuoted, hides(name) else { return reset(to: index + 1) }
    let start = index + 1
    hide(start, first(from: start) { (octets[$0] == 0x0A || octets[$0] == 0x0D) && text.encloses($0, start - 1) })
  }

  /// Masks the token after the word Bearer.
  private mutating func maskBearer() -> Bool {
    guard name.count == 6, name.upperBound == index, !redaction.revealsSecrets,
      octets[name].elementsEqual("bearer".utf8, by: { FieldSyntax.lowercased($0) == $1 })
    else { return false }
    let start = octets[index...].firstIndex { !Self.blanks.contains($0) } ?? octets.count
    let end =
      octets[start...].firstIndex { $0 <= 0x20 || Self.valueEnds.contains($0) || $0 == UInt8(ascii: ",") }
      ?? octets.count
    let hasParameter =
      octets[start..<end].last == UInt8(ascii: "=") && end < octets.count && Self.quotes.contains(octets[end])
    guard end - start >= 6, !hasParameter else { return false }
    hide(start, end)
    return true
  }

  // MARK: Structures

  private mutating func maskJSON(at start: Int) -> Bool {
    guard text.isPlain(start) else { return false }
    // Many apparent structures are not JSON.
    guard attempts > 0 else {
      guard !redaction.revealsSecrets else { return false }
      mask(start, octets.count)
      reset(to: octets.count)
      return true
    }
    let (json, end) = parseJSON(at: start)
    // `x["password"] = …` is not JSON.
    guard end != .invalid, json.edits.count > 0 || !json.hasName else { return false }
    edits.add(json.edits)
    if json.edits.count > 0 { hasName = true }
    reset(to: end == .cut ? octets.count : decodedIndex(of: json.index, from: start))
    return true
  }

  private mutating func parseJSON(at start: Int) -> (JSONMask, JSONMask.End) {
    var json = JSONMask(source, at: text.source(start), redaction, level: level)
    let end = json.parse()
    attempts -= json.steps
    steps += json.steps
    return (json, end)
  }

  /// The first decoded octet whose source is at an index or after it.
  private mutating func decodedIndex(of source: Int, from start: Int) -> Int {
    var index = start
    while index < octets.count, text.source(index) < source { index += 1 }
    steps += index - start
    return index
  }

  /// Masks markup and the text after it, if there is a telling name.
  private mutating func maskMarkup() {
    let start = index - 1
    guard index < octets.count, Self.tagStarts.contains(octets[index]), !isAutolink() else { return }
    let last =
      octets.indices.last { octets[$0] == UInt8(ascii: ">") && text.encloses($0, start) }.map { $0 + 1 } ?? 0
    // A tag without an end may have a name after the end of the text.
    let open = octets[max(last, start)...].indices.first {
      octets[$0] == UInt8(ascii: "<") && $0 + 1 < octets.count && Self.tagStarts.contains(octets[$0 + 1])
    }
    steps += octets.count - start
    markupEnd = octets.count
    if open != nil { endsInTag = true }
    guard !redaction.revealsSecrets || redaction.hasAddedItems else { return }
    if hasName(in: start..<octets.count) {
      hide(start, octets.count)
    } else if let open, !redaction.revealsSecrets {
      mask(open, octets.count)
    }
  }

  /// Whether a URL follows, as in a `Link` field.
  private func isAutolink() -> Bool {
    let end = octets[index...].firstIndex { !ASCIISet.scheme.contains($0) } ?? octets.count
    return octets[end...].starts(with: [UInt8(ascii: ":"), UInt8(ascii: "/"), UInt8(ascii: "/")])
  }

  private mutating func hasName(in range: Range<Int>) -> Bool {
    var start = range.lowerBound
    for index in range where !Self.tagOctets.contains(octets[index]) {
      if start < index, hidesMarkup(start..<index) { return true }
      start = index + 1
    }
    return hides(start..<range.upperBound)
  }

  /// Masks the userinfo of the authority after `//`, and secrets in the path.
  private mutating func maskURL() {
    let slash = index
    // Extra slashes, as in `https:///`.
    let start = octets[index...].firstIndex { $0 != octets[slash] } ?? octets.count
    steps += start - slash
    reset(to: start)
    guard !redaction.revealsSecrets || redaction.hasPaths else { return }
    let isNew = start > runEnd
    if isNew {
      runEnd = first(from: start) {
        (octets[$0] <= 0x20 || Self.runEnds.contains(octets[$0])) && text.encloses($0, slash)
      }
      steps += runEnd - start
    }
    guard start <= runEnd else { return }
    let host = first(from: start, to: runEnd) { Self.authorityEnds.contains(octets[$0]) && text.encloses($0, slash) }
    steps += host - start
    if !redaction.revealsSecrets {
      let at = (start..<host).last { octets[$0] == UInt8(ascii: "@") && text.encloses($0, slash) }
      let name = at.map { $0 + 1 } ?? start
      if SecretShapes.isUserinfo(octets[name..<host], isLast: host == runEnd) { return hide(start, runEnd) }
      if name > start {
        edits.mask(text.source(start)..<text.source(name), by: [])
        reset(to: name)
        hasName = true
      }
    }
    guard isNew, host < runEnd, octets[host] == UInt8(ascii: "/") else { return }
    let end = octets[host..<runEnd].firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? runEnd
    for secret in redaction.secrets(inPath: octets[host..<end], host: octets[index..<host]) {
      hasName = true
      mask(secret.lowerBound, secret.upperBound)
    }
    steps += end - host
  }

  private func first(from start: Int, to end: Int? = nil, where isFound: (Int) -> Bool) -> Int {
    let end = end ?? octets.count
    return (start..<end).first(where: isFound) ?? end
  }

  /// Masks a secret, and continues after it.
  private mutating func hide(_ start: Int, _ end: Int, next: Int? = nil) {
    hasName = true
    mask(start, end)
    reset(to: next ?? end)
  }

  /// Masks a range of the decoded text.
  private mutating func mask(_ start: Int, _ end: Int) {
    edits.mask(text.source(start)..<text.source(max(start, end)))
  }

  private static let nameOctets = ASCIISet(ASCIISet.alphanumerics + "-._~%[]+$")
  /// The octets in the words of markup, including those of entities and other escapes.
  private static let tagOctets = ASCIISet(ASCIISet.alphanumerics + "-._")
  private static let tagStarts = ASCIISet("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/!?")
  private static let marks = ASCIISet("=:@,<[{\\%&/")
  private static let gaps = ASCIISet("\"'`\\)")
  private static let quotes = ASCIISet("\"'`")
  private static let blanks = ASCIISet(" \t")
  private static let separators = ASCIISet("=:>")
  private static let itemMarks = ASCIISet("?&;")
  private static let valueEnds = ASCIISet("&\">")
  private static let memberEnds = ASCIISet(",}]")
  private static let punctuation = ASCIISet(",;.:)")
  private static let runEnds = ASCIISet("\"<>`")
  private static let authorityEnds = ASCIISet("/?#\\")
}
