/// Random text that favors characters known to break URL code.
enum HostileText {
  private static let pieces = [
    "/", "?", "#", "%", ":", "@", "\\", ".", "..", "[", "]", "\r", "\n", "\r\n", "\0", " ", "+", "&", "=", ";", "//",
    "%2e",
    "%2F", "%0d", "%", "2f", "\u{7F}", "\u{85}", "é", "日本", "\u{301}", "/\u{301}", "\u{202E}", "\u{2028}", "👩‍👩‍👧", "ａ",
    "℀", "．",
    "／", "{", "}", "|", "^", "`", "\"", "<", ">", "'", "~", "!", "$", "*", ",", "(", ")", "_", "-", "http:", "https://",
    "x",
    "evil.test", "0", "7", "A",
  ]

  static func random(upTo count: Int, using generator: inout some RandomNumberGenerator) -> String {
    var text = ""
    for _ in 0..<Int.random(in: 0...count, using: &generator) {
      if Bool.random(using: &generator) {
        text += pieces[Int.random(in: pieces.indices, using: &generator)]
      } else if let scalar = Unicode.Scalar(UInt32.random(in: 0...0x2FF, using: &generator)) {
        text.unicodeScalars.append(scalar)
      }
    }
    return text
  }
}
