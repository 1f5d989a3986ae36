/// Splits a JSON text (RFC 8259) into tokens, strictly and without recursion: nesting costs one Boolean a level.
struct JSONScanner {
  enum Token: Equatable {
    case beginObject
    case endObject
    case beginArray
    case endArray
    case colon
    case comma
    /// The token's bytes, including the quotes of a string.
    case key(Range<Int>)
    case string(Range<Int>)
    case number(Range<Int>)
    /// `true`, `false` or `null`.
    case word(Range<Int>)
  }

  /// The error and its byte offset.
  struct Problem: Error, Equatable, CustomStringConvertible {
    let message: String
    let offset: Int

    var description: String { "\(message) at byte \(offset)" }
  }

  private enum Expected {
    case value
    case valueOrEnd
    case key
    case keyOrEnd
    case colon
    case commaOrEnd
    case nothing
  }

  let bytes: [UInt8]
  private var position = 0
  private var expected = Expected.value
  /// Whether each open bracket belongs to an object.
  private var open: [Bool] = []

  init(_ text: String) { bytes = Array(text.utf8) }

  /// The number of open brackets.
  var depth: Int { open.count }

  /// Whether a text is JSON, or a beginning of JSON.
  static func isBeginning(_ text: String) -> Bool {
    problem(in: text).map { $0.offset == text.utf8.count } ?? true
  }

  /// Returns the reason why a text is not JSON, or `nil`.
  static func problem(in text: String) -> Problem? {
    var scanner = JSONScanner(text)
    do throws(Problem) {
      while try scanner.next() != nil {}
      return nil
    } catch {
      return error
    }
  }

  /// Returns the next token, or `nil` after the last one.
  mutating func next() throws(Problem) -> Token? {
    while let byte = current, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { position += 1 }
    guard let byte = current else {
      guard expected == .nothing else { throw problem("the text ends too early") }
      return nil
    }
    switch (byte, expected) {
    case (UInt8(ascii: "}"), .keyOrEnd): return close(.endObject)
    case (UInt8(ascii: "}"), .commaOrEnd) where open.last == true: return close(.endObject)
    case (UInt8(ascii: "]"), .valueOrEnd): return close(.endArray)
    case (UInt8(ascii: "]"), .commaOrEnd) where open.last == false: return close(.endArray)
    case (UInt8(ascii: ","), .commaOrEnd):
      expected = open.last == true ? .key : .value
      return step(.comma)
    case (UInt8(ascii: ":"), .colon):
      expected = .value
      return step(.colon)
    case (UInt8(ascii: "\""), .key), (UInt8(ascii: "\""), .keyOrEnd):
      expected = .colon
      return .key(try string())
    case (_, .value), (_, .valueOrEnd): return try value(byte)
    default: throw problem("unexpected character")
    }
  }

  private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

  private func problem(_ message: String) -> Problem { Problem(message: message, offset: position) }

  private mutating func step(_ token: Token) -> Token {
    position += 1
    return token
  }

  private mutating func close(_ token: Token) -> Token {
    open.removeLast()
    endValue()
    return step(token)
  }

  private mutating func endValue() { expected = open.isEmpty ? .nothing : .commaOrEnd }

  private mutating func value(_ byte: UInt8) throws(Problem) -> Token {
    switch byte {
    case UInt8(ascii: "{"):
      open.append(true)
      expected = .keyOrEnd
      return step(.beginObject)
    case UInt8(ascii: "["):
      open.append(false)
      expected = .valueOrEnd
      return step(.beginArray)
    case UInt8(ascii: "\""):
      endValue()
      return .string(try string())
    case UInt8(ascii: "-"), 0x30...0x39:
      endValue()
      return .number(try number())
    default:
      for word in ["true", "false", "null"] where bytes[position...].starts(with: word.utf8) {
        endValue()
        defer { position += word.utf8.count }
        return .word(position..<position + word.utf8.count)
      }
      if ["true", "false", "null"].contains(where: { $0.utf8.starts(with: bytes[position...]) }) {
        position = bytes.count
      }
      throw problem("unexpected character")
    }
  }

  private mutating func string() throws(Problem) -> Range<Int> {
    let start = position
    position += 1
    while let byte = current {
      position += 1
      switch byte {
      case UInt8(ascii: "\""): return start..<position
      case UInt8(ascii: "\\"): try escape()
      case 0..<0x20:
        position -= 1
        throw problem("a control character in a string")
      default: continue
      }
    }
    throw problem("a string without its end")
  }

  private mutating func escape() throws(Problem) {
    guard let byte = current else { throw problem("a string without its end") }
    guard "\"\\/bfnrtu".utf8.contains(byte) else { throw problem("an unknown escape") }
    position += 1
    guard byte == UInt8(ascii: "u") else { return }
    for _ in 0..<4 {
      guard let digit = current, "0123456789abcdefABCDEF".utf8.contains(digit) else {
        throw problem("a \\u escape without four hexadecimal digits")
      }
      position += 1
    }
  }

  private mutating func number() throws(Problem) -> Range<Int> {
    let start = position
    if current == UInt8(ascii: "-") { position += 1 }
    if current == UInt8(ascii: "0") { position += 1 } else { try digits() }
    if current == UInt8(ascii: ".") {
      position += 1
      try digits()
    }
    if let byte = current, byte | 0x20 == UInt8(ascii: "e") {
      position += 1
      if let sign = current, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { position += 1 }
      try digits()
    }
    return start..<position
  }

  private mutating func digits() throws(Problem) {
    let start = position
    while let byte = current, (0x30...0x39).contains(byte) { position += 1 }
    if position == start { throw problem("a digit is missing") }
  }
}
