public import MartletBase

/// The value that ``JSONParser`` makes of a text.
protocol JSONTree {
  /// A value that is neither an array nor an object.
  static func scalar(_ value: JSONValue) -> Self
  static func array(_ elements: [Self]) -> Self
  /// An object with its members in the order of the text; names can repeat.
  static func object(_ members: [(name: String, value: Self)]) -> Self
}

extension JSONValue: JSONTree {
  static func scalar(_ value: JSONValue) -> JSONValue { value }
  static func object(_ members: [(name: String, value: JSONValue)]) -> JSONValue {
    .object(Dictionary(members.map { ($0.name, $0.value) }) { $1 })
  }
}

extension JSONValue {
  /// The reason why a text is not JSON.
  public struct SyntaxError: Error, Sendable {
    /// The reason, without a part of the text.
    public let reason: String
    /// The number of bytes before the problem.
    public let offset: Int

    var message: String { "\(reason), at byte \(offset)" }
  }

  /// Parses a JSON text in UTF-8, up to 128 levels deep, in time proportional to its length.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - isLenient: Whether strings may contain control characters, and lone surrogates and invalid UTF-8, which become
  ///     U+FFFD. Some programs write them.
  /// - Throws: ``SyntaxError``.
  public init(parsing text: Data, isLenient: Bool = false) throws {
    self = try JSONParser.value(of: text, isLenient: isLenient)
  }
}

/// Parses a JSON text of any shape (RFC 8259) in linear time.
///
/// `JSONDecoder` requires trying the types in turn, and creates an error with the whole path for each type that does
/// not fit: a text of a few kilobytes can take minutes.
struct JSONParser {
  typealias Problem = JSONValue.SyntaxError

  static let maximumDepth = 128

  private let bytes: [UInt8]
  private let isLenient: Bool
  private let maximumDepth: Int
  /// Whether numbers keep their digits.
  private var keepsDigits = false
  private var index = 0
  private var depth = 0

  /// Parses a text; if it is lenient, a string may have control characters, half surrogate pairs and invalid UTF-8, which
  /// become U+FFFD: some programs write them.
  static func value(of data: Data, isLenient: Bool = false) throws(Problem) -> JSONValue {
    try tree(of: data, isLenient: isLenient)
  }

  /// Parses a text whose numbers become ``JSONValue/digits(_:)``, so none is rounded.
  static func valueWithDigits(of data: Data) throws(Problem) -> JSONValue {
    var parser = JSONParser(bytes: Array(data), isLenient: false, maximumDepth: maximumDepth)
    parser.keepsDigits = true
    return try parser.whole()
  }

  /// Parses a text into a tree of any type.
  static func tree<Tree: JSONTree>(
    of data: Data, isLenient: Bool = false, maximumDepth: Int = Self.maximumDepth
  ) throws(Problem) -> Tree {
    var parser = JSONParser(bytes: Array(data), isLenient: isLenient, maximumDepth: maximumDepth)
    if parser.bytes.starts(with: [0xEF, 0xBB, 0xBF]) { parser.index = 3 }
    return try parser.whole()
  }

  private mutating func whole<Tree: JSONTree>() throws(Problem) -> Tree {
    let value: Tree = try value()
    skipBlanks()
    guard index == bytes.count else { throw problem("unexpected data after the value") }
    return value
  }

  /// Parses the value at an index of a text.
  static func node(in bytes: [UInt8], at index: Int) throws(Problem) -> JSONNode {
    var parser = JSONParser(bytes: bytes, isLenient: false, maximumDepth: maximumDepth, index: index)
    let node: JSONNode = try parser.value()
    parser.skipBlanks()
    switch parser.next {
    case nil, UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"): return node
    default: throw parser.problem("unexpected data after the value")
    }
  }

  /// Parses a string at an index of a text, leniently.
  static func string(in bytes: [UInt8], at index: Int) -> String {
    var parser = JSONParser(bytes: bytes, isLenient: true, maximumDepth: 0, index: index)
    return (try? parser.string()) ?? ""
  }

  private func problem(_ message: String) -> Problem { Problem(reason: message, offset: index) }

  private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

  private mutating func skipBlanks() {
    while let octet = next, octet == 0x20 || octet == 0x0A || octet == 0x0D || octet == 0x09 { index += 1 }
  }

  /// Consumes an octet if it is the next one after optional blanks.
  private mutating func take(_ octet: UInt8) -> Bool {
    skipBlanks()
    guard next == octet else { return false }
    index += 1
    return true
  }

  private mutating func value<Tree: JSONTree>() throws(Problem) -> Tree {
    skipBlanks()
    switch next {
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      guard depth < maximumDepth else { throw problem("nesting is deeper than \(maximumDepth) levels") }
      depth += 1
      let value: Tree = next == UInt8(ascii: "{") ? try object() : try array()
      depth -= 1
      return value
    case UInt8(ascii: "\""): return .scalar(.string(try string()))
    case UInt8(ascii: "t"): return .scalar(try word("true", .bool(true)))
    case UInt8(ascii: "f"): return .scalar(try word("false", .bool(false)))
    case UInt8(ascii: "n"): return .scalar(try word("null", .null))
    case nil: throw problem("unexpected end")
    case let octet? where octet == UInt8(ascii: "-") || 0x30...0x39 ~= octet: return .scalar(try number())
    default: throw problem("expected a value")
    }
  }

  private mutating func object<Tree: JSONTree>() throws(Problem) -> Tree {
    index += 1
    var members: [(name: String, value: Tree)] = []
    if take(UInt8(ascii: "}")) { return .object(members) }
    repeat {
      skipBlanks()
      guard next == UInt8(ascii: "\"") else { throw problem("expected the name of a member") }
      let name = try string()
      guard take(UInt8(ascii: ":")) else { throw problem("expected a colon") }
      members.append((name, try value()))
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "}")) else { throw problem("expected a comma or the end of the object") }
    return .object(members)
  }

  private mutating func array<Tree: JSONTree>() throws(Problem) -> Tree {
    index += 1
    var elements: [Tree] = []
    if take(UInt8(ascii: "]")) { return .array(elements) }
    repeat { elements.append(try value()) } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "]")) else { throw problem("expected a comma or the end of the array") }
    return .array(elements)
  }

  private mutating func word(_ word: String, _ value: JSONValue) throws(Problem) -> JSONValue {
    guard bytes[index...].starts(with: word.utf8) else { throw problem("expected a value") }
    index += word.utf8.count
    return value
  }

  private mutating func number() throws(Problem) -> JSONValue {
    let start = index
    var isInteger = true
    if next == UInt8(ascii: "-") { index += 1 }
    if next == UInt8(ascii: "0") { index += 1 } else { try digits() }
    if next == UInt8(ascii: ".") {
      isInteger = false
      index += 1
      try digits()
    }
    if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
      isInteger = false
      index += 1
      if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { index += 1 }
      try digits()
    }
    let text = String(decoding: bytes[start..<index], as: UTF8.self)
    if keepsDigits { return .digits(text) }
    // Rounding would alter an integer, and nothing else holds a number beyond Double.
    if isInteger { return Int(text).map { .integer($0) } ?? .digits(text) }
    guard let value = Double(text), value.isFinite else { return .digits(text) }
    return .number(value)
  }

  private mutating func digits() throws(Problem) {
    let start = index
    while let octet = next, 0x30...0x39 ~= octet { index += 1 }
    guard index > start else { throw problem("expected a digit") }
  }

  private mutating func string() throws(Problem) -> String {
    index += 1
    var octets: [UInt8] = []
    while let octet = next {
      index += 1
      switch octet {
      case UInt8(ascii: "\""):
        if isLenient { return String(decoding: octets, as: UTF8.self) }
        guard let text = String(validating: octets, as: UTF8.self) else { throw problem("invalid UTF-8 in a string") }
        return text
      case UInt8(ascii: "\\"): try escape(into: &octets)
      case 0..<0x20 where !isLenient: throw problem("control character in a string")
      default: octets.append(octet)
      }
    }
    throw problem("unterminated string")
  }

  private mutating func escape(into octets: inout [UInt8]) throws(Problem) {
    let start = index - 1
    guard let escape = JSONEscape(bytes, at: start) else {
      index = min(start + 2, bytes.count)
      let isTruncated = JSONEscape.isTruncated(bytes, at: start)
      throw problem(isTruncated ? "unterminated string" : "invalid escape in a string")
    }
    index = start + escape.length
    guard let scalar = escape.scalar ?? (isLenient ? "\u{FFFD}" : nil) else {
      throw problem("lone surrogate in a string")
    }
    octets += String(scalar).utf8
  }
}
