/// Checks UTF-8 that arrives in chunks, and rejects the first impossible octet (RFC 3629 §4).
struct UTF8Validator {
  /// The number of octets missing at the end of the text.
  private var missing = 0
  /// The number of octets at the end of the text that belong to an incomplete character.
  private(set) var partial = 0
  /// The range of the next octet, if octets are missing.
  private var lowest: UInt8 = 0x80
  private var highest: UInt8 = 0xBF

  /// Whether the text ends after a whole character.
  var isComplete: Bool { missing == 0 }

  /// Checks the next octets; returns whether the text is still valid.
  mutating func append(_ octets: UnsafeRawBufferPointer) -> Bool {
    guard let base = octets.baseAddress else { return true }
    let count = octets.count
    var index = 0
    while index < count {
      if missing > 0 {
        guard take(base.load(fromByteOffset: index, as: UInt8.self)) else { return false }
        index += 1
        continue
      }
      index = Self.endOfASCII(base, from: index, to: count)
      index = Self.endOfCharacters(base, from: index, to: count)
      guard index < count else { return true }
      let first = base.load(fromByteOffset: index, as: UInt8.self)
      if first >= 0x80 {
        guard start(first) else { return false }
        index += 1
      }
    }
    return true
  }

  /// Starts a character with an octet that is not ASCII.
  private mutating func start(_ octet: UInt8) -> Bool {
    lowest = 0x80
    highest = 0xBF
    switch octet {
    case 0xC2...0xDF: missing = 1
    case 0xE0...0xEF:
      missing = 2
      // Excludes overlong forms and surrogates.
      if octet == 0xE0 { lowest = 0xA0 }
      if octet == 0xED { highest = 0x9F }
    case 0xF0...0xF4:
      missing = 3
      // Excludes overlong forms and everything above U+10FFFF.
      if octet == 0xF0 { lowest = 0x90 }
      if octet == 0xF4 { highest = 0x8F }
    default: return false
    }
    partial = 1
    return true
  }

  private mutating func take(_ octet: UInt8) -> Bool {
    guard lowest <= octet && octet <= highest else { return false }
    lowest = 0x80
    highest = 0xBF
    missing -= 1
    partial = missing == 0 ? 0 : partial + 1
    return true
  }

  private static func endOfASCII(_ base: UnsafeRawPointer, from start: Int, to end: Int) -> Int {
    let high: UInt64 = 0x8080_8080_8080_8080
    var index = start
    while end - index >= 32 {
      let words = base.loadUnaligned(fromByteOffset: index, as: SIMD4<UInt64>.self)
      guard (words[0] | words[1] | words[2] | words[3]) & high == 0 else { break }
      index += 32
    }
    while end - index >= 8 {
      let word = base.loadUnaligned(fromByteOffset: index, as: UInt64.self) & high
      if word != 0 { return index + UInt64(littleEndian: word).trailingZeroBitCount / 8 }
      index += 8
    }
    while index < end, base.load(fromByteOffset: index, as: UInt8.self) < 0x80 { index += 1 }
    return index
  }

  /// The index after all whole characters that are valid, up to four ASCII characters in a row.
  private static func endOfCharacters(_ base: UnsafeRawPointer, from start: Int, to end: Int) -> Int {
    var index = start
    while end - index >= 4 {
      let word = UInt32(littleEndian: base.loadUnaligned(fromByteOffset: index, as: UInt32.self))
      let first = UInt8(truncatingIfNeeded: word)
      let second = UInt8(truncatingIfNeeded: word >> 8)
      switch first {
      case 0...0x7F:
        if word & 0x8080_8080 == 0 { return index }
        index += 1
      case 0xC2...0xDF:
        guard word & 0xC000 == 0x8000 else { return index }
        index += 2
      case 0xE0...0xEF:
        guard word & 0xC0_C000 == 0x80_8000 else { return index }
        // Overlong forms and surrogates are left to the state machine.
        guard first != 0xE0 || second >= 0xA0, first != 0xED || second <= 0x9F else { return index }
        index += 3
      case 0xF0...0xF4:
        guard word & 0xC0C0_C000 == 0x8080_8000 else { return index }
        guard first != 0xF0 || second >= 0x90, first != 0xF4 || second <= 0x8F else { return index }
        index += 4
      default: return index
      }
    }
    return index
  }
}
