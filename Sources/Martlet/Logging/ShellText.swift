import MartletBase

/// Quotes text for a POSIX shell (POSIX.1-2024, Shell Command Language, §2.2).
enum ShellText {
  /// Quotes any text as one word of a command.
  ///
  /// Between single quotes, every character but a single quote is literal. Characters that are invisible in a terminal,
  /// or control it, are written in octal and printed by `printf`, so the command is one line that shows all of its
  /// effects. A NUL throws: no argument of a program can contain one.
  static func word(_ text: String) throws(InvalidInput) -> String {
    guard !text.utf8.contains(0) else { throw InvalidInput("a NUL cannot be part of a command") }
    guard text.unicodeScalars.allSatisfy(Printable.isPrintable) else {
      // Command substitution drops line ends at the end of the output.
      guard text.utf8.last != UInt8(ascii: "\n") else {
        throw InvalidInput("an argument that ends with a line break cannot be part of a command")
      }
      return "\"$(\(printf(text.utf8)))\""
    }
    if !text.isEmpty, text.utf8.allSatisfy(plain.contains) { return text }
    return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
  }

  /// A command that prints these bytes, NUL included.
  static func printf(_ bytes: some Sequence<UInt8>) -> String {
    var format = ""
    for octet in bytes {
      if plain.contains(octet) || " {}".utf8.contains(octet) {
        format.unicodeScalars.append(Unicode.Scalar(octet))
      } else {
        format += "\\" + octet.digits(3, radix: 8)
      }
    }
    return "printf '\(format)'"
  }

  /// The octets that are literal everywhere in a command and in a format of `printf`.
  private static let plain = ASCIISet(ASCIISet.alphanumerics + "_./:@")
}
