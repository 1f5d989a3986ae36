import MartletBase

/// Text with all of its escapes decoded, and the source of each octet.
///
/// Decodes the escapes of JSON and of programming languages (`\"`, `\u003d`, `\x3d`), of URLs (`%3D`), and of markup
/// (`&#61;`, `&quot;`), including escapes of escapes.
struct DecodedText {
  /// The first octets of escapes; a layer has the number of one of them, from 1.
  private static let introducers = Array("\\%&".utf8)

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
    guard text.contains(where: Self.introducers.contains) else { return }
    sources = Array(0...text.count)
    layers = [UInt64](repeating: 0, count: text.count)
    for _ in 0..<Self.maximumDepth {
      var isChanged = false
      for (number, introducer) in Self.introducers.enumerated() where decode(introducer, UInt64(number) + 1) {
        isChanged = true
      }
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
  private mutating func decode(_ introducer: UInt8, _ digit: UInt64) -> Bool {
    steps += octets.count
    guard octets.contains(introducer) else { return false }
    var (decoded, origins, around): ([UInt8], [Int], [UInt64]) = ([], [], [])
    decoded.reserveCapacity(octets.count)
    origins.reserveCapacity(sources.count)
    around.reserveCapacity(octets.count)
    var isChanged = false
    var index = 0
    while index < octets.count {
      guard octets[index] == introducer, let escape = escape(at: index) else {
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
        around.append(layers[index] << 2 | digit)
      }
      index += escape.length
    }
    guard isChanged else { return false }
    origins.append(sources[octets.count])
    (octets, sources, layers) = (decoded, origins, around)
    return true
  }

  private func escape(at index: Int) -> (octets: [UInt8], length: Int)? {
    switch octets[index] {
    case UInt8(ascii: "%"): return PercentEncoding.triplet(at: index, in: octets[...]).map { ([$0], 3) }
    case UInt8(ascii: "&"): return Self.entity(octets, index)
    default:
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

  /// Text in which the escapes with an introducer are decoded once; `nil` if one of them is unknown.
  static func replacing(
    _ introducer: UInt8, in text: ArraySlice<UInt8>, _ escape: ([UInt8], Int) -> (octets: [UInt8], length: Int)?
  ) -> [UInt8]? {
    let text = Array(text)
    guard text.contains(introducer) else { return text }
    var result: [UInt8] = []
    var index = 0
    while index < text.count {
      guard text[index] == introducer else {
        result.append(text[index])
        index += 1
        continue
      }
      guard let (octets, length) = escape(text, index) else { return nil }
      result += octets
      index += length
    }
    return result
  }

  /// The octets that an escape of JSON or of a programming language stands for, and its length.
  static func backslash(_ text: [UInt8], _ index: Int) -> (octets: [UInt8], length: Int)? {
    guard index + 1 < text.count else { return nil }
    switch text[index + 1] {
    case UInt8(ascii: "'"): return ([UInt8(ascii: "'")], 2)
    case UInt8(ascii: "x"): return JSONEscape.number(text, (index + 2)..<(index + 4)).map { ([UInt8($0)], 4) }
    default: return JSONEscape(text, at: index).map { (Array(String($0.scalar ?? "\u{FFFD}").utf8), $0.length) }
    }
  }

  /// The octets that an entity of markup stands for, and the length of the entity.
  static func entity(_ text: [UInt8], _ index: Int) -> (octets: [UInt8], length: Int)? {
    guard let end = text[index...].prefix(10).firstIndex(of: UInt8(ascii: ";")) else { return nil }
    let name = String(decoding: text[(index + 1)..<end], as: UTF8.self)
    var scalar = entities[name]
    if name.hasPrefix("#") {
      let isHex = name.dropFirst().first?.lowercased() == "x"
      scalar = UInt32(name.dropFirst(isHex ? 2 : 1), radix: isHex ? 16 : 10).flatMap { Unicode.Scalar($0) }
    }
    return scalar.map { (Array(String($0).utf8), end - index + 1) }
  }

  private static let entities: [String: Unicode.Scalar] = [
    "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "equals": "=", "colon": ":", "sol": "/",
    "commat": "@", "quest": "?", "nbsp": " ",
  ]
}
