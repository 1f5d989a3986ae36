/// Quotes text for a POSIX shell (POSIX.1-2024, Shell Command Language, §2.2).
enum ShellText {
  /// Quotes any text as one word of a command.
  ///
  /// Between single quotes, every character but a single quote is literal. Characters that are invisible in a terminal,
  /// or control it, are written in octal and printed by `printf`, so that the command is one line that shows all it
  /// does. A NUL throws: no argument of a program can contain one.
  static func word(_ text: String) throws(InvalidInput) -> String {
    guard !text.utf8.contains(0) else { throw InvalidInput("a NUL cannot be part of a command") }
    guard text.unicodeScalars.allSatisfy(InvalidInput.isPrintable) else {
      // Command substitution drops line ends at the end of the output.
      guard text.utf8.last != UInt8(ascii: "\n") else {
        throw InvalidInput("an argument that ends with a line break cannot be part of a command")
      }
      return "\"$(\(printf(text.utf8)))\""
    }
    if !text.isEmpty, text.utf8.allSatisfy(isPlain) { return text }
    return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
  }

  /// A command that prints these bytes, NUL included.
  static func printf(_ bytes: some Sequence<UInt8>) -> String {
    var format = ""
    for octet in bytes {
      if isPlain(octet) || octet == UInt8(ascii: " ") || octet == UInt8(ascii: "{") || octet == UInt8(ascii: "}") {
        format.unicodeScalars.append(Unicode.Scalar(octet))
      } else {
        let digits = String(octet, radix: 8)
        format += "\\" + String(repeating: "0", count: 3 - digits.count) + digits
      }
    }
    return "printf '\(format)'"
  }

  /// Whether an octet is literal everywhere in a command and in a format of `printf`.
  private static func isPlain(_ octet: UInt8) -> Bool {
    switch octet {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    case UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: "@"): true
    default: false
    }
  }
}
