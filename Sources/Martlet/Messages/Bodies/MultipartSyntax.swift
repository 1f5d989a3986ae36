import MartletBase

/// The syntax of names, values and boundaries in a form.
package enum MultipartSyntax {
  /// The text with each line break as CR LF.
  static func withCRLF(_ text: String) -> String {
    guard text.utf8.contains(where: { $0 == 0x0D || $0 == 0x0A }) else { return text }
    var result = String.UnicodeScalarView()
    var isAfterCR = false
    for scalar in text.unicodeScalars {
      if scalar == "\n" && isAfterCR {
        // Already written with the CR.
      } else if scalar == "\r" || scalar == "\n" {
        result.append("\r")
        result.append("\n")
      } else {
        result.append(scalar)
      }
      isAfterCR = scalar == "\r"
    }
    return String(result)
  }

  /// A name escaped for use in quotes.
  static func escaped(_ name: String) -> String {
    // By octets: appending several scalars at once takes time proportional to the existing text.
    var result: [UInt8] = []
    result.reserveCapacity(name.utf8.count)
    for octet in name.utf8 {
      switch octet {
      case UInt8(ascii: "\""): result += "%22".utf8
      case UInt8(ascii: "\r"): result += "%0D".utf8
      case UInt8(ascii: "\n"): result += "%0A".utf8
      default: result.append(octet)
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  static func isMediaType(_ text: String) -> Bool {
    FieldSyntax.isFieldValue(text) && text.utf8.allSatisfy { $0 < 0x80 } && MediaType(text) != nil
  }

  /// A boundary that cannot be guessed.
  static func randomBoundary() -> String {
    let letters = Array("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    // 24 characters out of 62: 142 bits.
    return "----MartletFormBoundary" + String((0..<24).compactMap { _ in letters.randomElement() })
  }

  /// The problem of a boundary (RFC 2046 §5.1.1), or `nil`.
  package static func problem(ofBoundary boundary: String) -> InvalidInput? {
    guard boundary.utf8.allSatisfy(ASCIISet.boundary.contains), (1...70).contains(boundary.utf8.count),
      !boundary.hasSuffix(" ")
    else {
      let shown = InvalidInput.printable(boundary)
      return InvalidInput(
        "'\(shown)' is not a boundary: 1 to 70 letters, digits or '()+_,-./:=? and no blank at the end")
    }
    return nil
  }

  /// Whether data contains a pattern, by Horspool's algorithm, which skips most bytes.
  static func contains(_ pattern: [UInt8], in data: Data) -> Bool {
    guard let last = pattern.last, data.count >= pattern.count else { return false }
    var skips = [Int](repeating: pattern.count, count: 256)
    for (index, octet) in pattern.dropLast().enumerated() { skips[Int(octet)] = pattern.count - 1 - index }
    return data.withUnsafeBytes { bytes in
      var end = pattern.count - 1
      while end < bytes.count {
        let octet = bytes[end]
        if octet == last && bytes[(end - pattern.count + 1)...end].elementsEqual(pattern) { return true }
        end += skips[Int(octet)]
      }
      return false
    }
  }
}
