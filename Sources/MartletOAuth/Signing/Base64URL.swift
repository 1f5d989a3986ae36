import MartletBase

/// Base64 without padding, for URLs (RFC 7515 §2).
enum Base64URL {
  static func encode(_ octets: some Sequence<UInt8>) -> String {
    String(
      Data(octets).base64EncodedString().compactMap { character in
        switch character {
        case "+": "-"
        case "/": "_"
        case "=": nil
        default: character
        }
      })
  }

  /// Random octets from the system's generator, encoded: 32 octets are 43 characters.
  static func random(_ count: Int = 32) -> String {
    var generator = SystemRandomNumberGenerator()
    return encode((0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
  }
}
