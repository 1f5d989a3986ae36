/// The grammar of header fields (RFC 9110 §5.5, §5.6).
///
/// All functions examine UTF-8 octets, never `Character`: Swift treats CR LF as one character, and a check by
/// characters would accept it.
public enum FieldSyntax {
  /// Whether the octet may stand in a token (RFC 9110 §5.6.2).
  @inlinable public static func isTokenOctet(_ octet: UInt8) -> Bool {
    switch octet {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    // ! # $ % & ' * + - . ^ _ ` | ~
    case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E, 0x5F, 0x60, 0x7C, 0x7E: true
    default: false
    }
  }

  /// Whether the octet may stand in a field value: HTAB, printable ASCII and everything from 0x80 (RFC 9110 §5.5).
  @inlinable public static func isValueOctet(_ octet: UInt8) -> Bool {
    octet == 0x09 || (octet >= 0x20 && octet != 0x7F)
  }

  /// Whether the octet is whitespace of `OWS`: SP or HTAB (RFC 9110 §5.6.3).
  @inlinable public static func isBlank(_ octet: UInt8) -> Bool {
    octet == 0x20 || octet == 0x09
  }

  /// Whether the text is a token, which is never empty (RFC 9110 §5.6.2).
  @inlinable public static func isToken(_ text: some StringProtocol) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy(isTokenOctet)
  }

  /// Whether the text has only octets that may stand in a field value.
  ///
  /// The empty value is legal. So is whitespace at the ends, although a recipient drops it.
  @inlinable public static func isFieldValue(_ text: some StringProtocol) -> Bool {
    text.utf8.allSatisfy(isValueOctet)
  }

  /// The first octet that is illegal in a field value, for error messages.
  @inlinable public static func firstIllegalOctet(inValue text: some StringProtocol) -> UInt8? {
    text.utf8.first { !isValueOctet($0) }
  }
}

extension FieldSyntax {
  /// The octet in lower case if it is an ASCII letter, otherwise unchanged.
  @inlinable public static func lowercased(_ octet: UInt8) -> UInt8 {
    0x41...0x5A ~= octet ? octet | 0x20 : octet
  }

  /// The text with its ASCII letters in lower case.
  ///
  /// `String.lowercased()` would also turn the Kelvin sign into a `k`.
  @inlinable public static func lowercased(_ text: some StringProtocol) -> String {
    String(decoding: text.utf8.map(lowercased), as: UTF8.self)
  }

  /// Whether two names are equal, ignoring ASCII case; allocates nothing.
  @inlinable @inline(never)
  public static func isSameName(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool {
    left.utf8.count == right.utf8.count
      && left.utf8.elementsEqual(right.utf8) { $0 == $1 || lowercased($0) == lowercased($1) }
  }
}

extension FieldSyntax {
  /// The octets without whitespace at their ends (RFC 9110 §5.6.3).
  @inlinable @inline(never) public static func trimmed<Octets: BidirectionalCollection<UInt8>>(
    _ text: Octets
  ) -> Octets where Octets.SubSequence == Octets {
    guard let start = text.firstIndex(where: { !isBlank($0) }),
      let last = text.lastIndex(where: { !isBlank($0) })
    else { return text[text.endIndex...] }
    return text[start...last]
  }

  @inlinable public static func trimmed(_ text: some StringProtocol) -> Substring {
    Substring(trimmed(Substring(text).utf8))
  }

  /// Splits the text at each separator outside quoted strings.
  ///
  /// Trims the parts and drops empty ones. Parts keep their quotes and backslashes. An unterminated quoted string
  /// extends to the end of the text.
  public static func split(_ text: Substring.UTF8View, at separator: UInt8) -> [Substring.UTF8View] {
    var parts: [Substring.UTF8View] = []
    var start = text.startIndex
    var isQuoted = false
    var isEscaped = false
    func endPart(at end: String.Index) {
      let part = trimmed(text[start..<end])
      if !part.isEmpty { parts.append(part) }
    }
    for index in text.indices {
      let octet = text[index]
      if isEscaped {
        isEscaped = false
      } else if isQuoted && octet == 0x5C {
        isEscaped = true
      } else if octet == 0x22 {
        isQuoted.toggle()
      } else if octet == separator && !isQuoted {
        endPart(at: index)
        start = text.index(after: index)
      }
    }
    endPart(at: text.endIndex)
    return parts
  }

  /// The members of a comma-separated list (RFC 9110 §5.6.1.2).
  ///
  /// They are trimmed, and empty members are dropped.
  @inlinable public static func listMembers(of value: some StringProtocol) -> [String] {
    split(Substring(value).utf8, at: 0x2C).map { String(Substring($0)) }
  }

  /// Reads a quoted string at the start of `rest` (RFC 9110 §5.6.4).
  ///
  /// Moves `rest` past the string and returns its unescaped content. Returns `nil` and leaves `rest` unchanged if there
  /// is none, if it is unterminated, or if it has an octet that is illegal in a field value.
  @inlinable public static func readQuotedString(from rest: inout Substring.UTF8View) -> String? {
    guard rest.first == 0x22 else { return nil }
    var octets: [UInt8] = []
    var isEscaped = false
    var index = rest.index(after: rest.startIndex)
    while index < rest.endIndex {
      let octet = rest[index]
      index = rest.index(after: index)
      guard isValueOctet(octet) else { return nil }
      if !isEscaped && octet == 0x22 {
        rest = rest[index...]
        return String(decoding: octets, as: UTF8.self)
      }
      isEscaped = !isEscaped && octet == 0x5C
      if !isEscaped { octets.append(octet) }
    }
    return nil
  }

  /// The index after the quoted string that begins at `start` (RFC 9110 §5.6.4).
  ///
  /// An unterminated string extends to the end. Strings of JSON end in the same way.
  @inlinable public static func endOfQuotedString(in octets: [UInt8], from start: Int) -> Int {
    var index = start + 1
    while index < octets.count {
      if octets[index] == 0x22 { return index + 1 }
      index += octets[index] == 0x5C ? 2 : 1
    }
    return octets.count
  }

  /// The text as a quoted string, with `"` and `\` escaped (RFC 9110 §5.6.4).
  @inlinable public static func quoted(_ text: some StringProtocol) -> String {
    var octets: [UInt8] = [0x22]
    for octet in text.utf8 {
      if octet == 0x22 || octet == 0x5C { octets.append(0x5C) }
      octets.append(octet)
    }
    octets.append(0x22)
    return String(decoding: octets, as: UTF8.self)
  }
}

extension FieldSyntax {
  /// The value of ASCII digits; `nil` for other text or an overflow.
  @inlinable public static func parseDigits(_ octets: some Collection<UInt8>) -> UInt64? {
    guard !octets.isEmpty else { return nil }
    var value: UInt64 = 0
    for octet in octets {
      guard 0x30...0x39 ~= octet else { return nil }
      let (product, hasOverflowed) = value.multipliedReportingOverflow(by: 10)
      let (sum, hasCarried) = product.addingReportingOverflow(UInt64(octet - 0x30))
      guard !hasOverflowed && !hasCarried else { return nil }
      value = sum
    }
    return value
  }

  @inlinable public static func parseDigits(_ text: some StringProtocol) -> UInt64? {
    parseDigits(text.utf8)
  }

  /// The value of ASCII digits; the largest `UInt64` for an overflow.
  @inlinable public static func parseSaturated(_ octets: some Collection<UInt8>) -> UInt64? {
    guard !octets.isEmpty, octets.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
    return parseDigits(octets) ?? .max
  }

  @inlinable public static func parseSaturated(_ text: some StringProtocol) -> UInt64? {
    parseSaturated(text.utf8)
  }

  /// A number of seconds, as in `max-age` and `Age` (RFC 9111 §1.2.2).
  ///
  /// At most 2³¹. On platforms with a 32-bit `Int` the maximum is 2³¹ - 1, which the standard also allows.
  @inlinable public static func deltaSeconds(_ text: some StringProtocol) -> Int? {
    parseSaturated(text).map { Int(clamping: min($0, 1 << 31)) }
  }
}
