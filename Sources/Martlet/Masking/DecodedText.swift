import MartletBase

/// Text with all of its escapes decoded, and the source of each octet.
///
/// Decodes the escapes of JSON and of programming languages (`\"`, `\u003d`, `\x3d`), of URLs (`%3D`), and of markup
/// (`&#61;`, `&quot;`), including escapes of escapes.
struct DecodedText {
  /// The kind of an escape, as a digit of a ``layer(at:)``.
  private enum Kind: UInt64, CaseIterable {
    case backslash = 1
    case percent = 2
    case entity = 3

    var introducer: UInt8 {
      switch self {
      case .backslash: UInt8(ascii: "\\")
      case .percent: UInt8(ascii: "%")
      case .entity: UInt8(ascii: "&")
      }
    }
  }

  /// The maximum number of escapes around an octet, of each kind.
  private static let maximumDepth = 8

  private(set) var octets: [UInt8]
  /// The index in the source of each octet, and of the end; empty if nothing is escaped.
  private var sources: [Int] = []
  /// The escapes around each octet: base-4 digits, the outermost escape first.
  private var layers: [UInt64] = []
  /// Whether all escapes are decoded.
  private(set) var isWhole = true
  /// The number of examined octets.
  private(set) var steps = 0

  init(_ text: [UInt8]) {
    octets = text
    guard text.contains(where: { octet in Kind.allCases.contains { $0.introducer == octet } }) else { return }
    sources = Array(0...text.count)
    layers = [UInt64](repeating: 0, count: text.count)
    for _ in 0..<Self.maximumDepth {
      var isChanged = false
      for kind in Kind.allCases where decode(kind) { isChanged = true }
      guard isChanged else { return }
    }
    isWhole = false
  }

  /// The index in the source of an octet, or of the end of the text.
  func source(_ index: Int) -> Int { sources.isEmpty ? index : sources[index] }

  /// Whether an octet is not escaped.
  func isPlain(_ index: Int) -> Bool { layers.isEmpty || layers[index] == 0 }

  /// Whether the octets have the same escapes around them.
  func isSameLayer(_ index: Int, _ other: Int) -> Bool { layers.isEmpty || layers[index] == layers[other] }

  /// Whether the syntax of an octet includes or equals the syntax of another octet.
  ///
  /// In `{"url":"/?a\u003db%26c"}`, the quotes delimit the value after the `=`, and the `&` does not.
  func encloses(_ index: Int, _ other: Int) -> Bool {
    guard !layers.isEmpty else { return true }
    var layer = layers[other]
    while layer > layers[index] { layer >>= 2 }
    return layer == layers[index]
  }

  // MARK: Escapes

  /// Decodes the escapes of one kind once; returns whether there are any.
  private mutating func decode(_ kind: Kind) -> Bool {
    steps += octets.count
    guard octets.contains(kind.introducer) else { return false }
    var (decoded, origins, around): ([UInt8], [Int], [UInt64]) = ([], [], [])
    decoded.reserveCapacity(octets.count)
    origins.reserveCapacity(sources.count)
    around.reserveCapacity(octets.count)
    var isChanged = false
    var index = 0
    while index < octets.count {
      guard octets[index] == kind.introducer, let escape = escape(kind, at: index) else {
        decoded.append(octets[index])
        origins.append(sources[index])
        around.append(layers[index])
        index += 1
        continue
      }
      isChanged = true
      for octet in escape.octets {
        decoded.append(octet)
        origins.append(sources[index])
        around.append(layers[index] << 2 | kind.rawValue)
      }
      index += escape.length
    }
    guard isChanged else { return false }
    origins.append(sources[octets.count])
    (octets, sources, layers) = (decoded, origins, around)
    return true
  }

  private func escape(_ kind: Kind, at index: Int) -> (octets: [UInt8], length: Int)? {
    switch kind {
    case .percent: return PercentEncoding.triplet(at: index, in: octets[...]).map { ([$0], 3) }
    case .entity: return Self.entity(octets, index).map { (Array(String($0).utf8), $1) }
    case .backslash:
      guard index + 1 < octets.count else { return nil }
      // The backslash before a delimiter of an outer syntax is the end of an inner text.
      let next = octets[index + 1]
      if next == UInt8(ascii: "\"") || next == UInt8(ascii: "'") || next == UInt8(ascii: "\\"),
        layers[index] != layers[index + 1]
      {
        return nil
      }
      return Self.backslash(octets, index)
    }
  }

  /// The octets that an escape of JSON or of a programming language stands for, and its length.
  static func backslash(_ text: [UInt8], _ index: Int) -> (octets: [UInt8], length: Int)? {
    guard index + 1 < text.count else { return nil }
    switch text[index + 1] {
    case UInt8(ascii: "u"):
      guard let unit = number(text, index + 2, digits: 4) else { return nil }
      if let scalar = Unicode.Scalar(unit) { return (Array(String(scalar).utf8), 6) }
      guard 0xD800..<0xDC00 ~= unit, index + 7 < text.count, text[index + 6] == UInt8(ascii: "\\"),
        text[index + 7] == UInt8(ascii: "u"), let second = number(text, index + 8, digits: 4),
        0xDC00..<0xE000 ~= second, let scalar = Unicode.Scalar(0x10000 + (unit & 0x3FF) << 10 + (second & 0x3FF))
      else { return (Array("\u{FFFD}".utf8), 6) }
      return (Array(String(scalar).utf8), 12)
    case UInt8(ascii: "x"): return number(text, index + 2, digits: 2).map { ([UInt8($0)], 4) }
    case UInt8(ascii: "n"): return ([0x0A], 2)
    case UInt8(ascii: "r"): return ([0x0D], 2)
    case UInt8(ascii: "t"): return ([0x09], 2)
    case UInt8(ascii: "b"): return ([0x08], 2)
    case UInt8(ascii: "f"): return ([0x0C], 2)
    case let octet where marks.contains(octet): return ([octet], 2)
    default: return nil
    }
  }

  private static func number(_ text: [UInt8], _ start: Int, digits: Int) -> UInt32? {
    guard start + digits <= text.count else { return nil }
    var number: UInt32 = 0
    for octet in text[start..<(start + digits)] {
      guard let digit = PercentEncoding.hexValue(octet) else { return nil }
      number = number << 4 | UInt32(digit)
    }
    return number
  }

  /// The character that an entity of markup stands for, and the length of the entity.
  static func entity(_ text: [UInt8], _ index: Int) -> (Unicode.Scalar, Int)? {
    guard let end = text[index...].prefix(10).firstIndex(of: UInt8(ascii: ";")) else { return nil }
    let name = String(decoding: text[(index + 1)..<end], as: UTF8.self)
    let length = end - index + 1
    if let scalar = entities[name] { return (scalar, length) }
    guard name.hasPrefix("#") else { return nil }
    let isHex = name.dropFirst().first?.lowercased() == "x"
    return UInt32(name.dropFirst(isHex ? 2 : 1), radix: isHex ? 16 : 10).flatMap { Unicode.Scalar($0) }
      .map { ($0, length) }
  }

  private static let marks = ASCIISet("\"'\\/")
  private static let entities: [String: Unicode.Scalar] = [
    "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "equals": "=", "colon": ":", "sol": "/",
    "commat": "@", "quest": "?", "nbsp": " ",
  ]
}
