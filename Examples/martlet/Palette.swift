/// The colors of a terminal, or none.
struct Palette: Equatable, Sendable {
  enum Role: String, Sendable {
    case good = "32"
    case bad = "31"
    case notice = "33"
    case name = "36"
    case dim = "2"
    case key = "34;1"
    case string = "32;22"
    case number = "35"
    case word = "33;22"
  }

  static let plain = Palette(isColored: false)
  static let colored = Palette(isColored: true)

  let isColored: Bool

  /// Returns the text in the color of a role.
  func paint(_ text: String, _ role: Role) -> String {
    isColored ? "\u{1B}[\(role.rawValue)m\(text)\u{1B}[0m" : text
  }
}

/// Escapes text for a terminal: characters that would act instead of being shown become `\u{1b}`.
enum Visible {
  /// Escapes multiline text; line ends and tabs are kept.
  static func text(_ text: String) -> String {
    escape(text) { scalar, next in scalar == "\n" || scalar == "\t" || (scalar == "\r" && next == "\n") }
  }

  /// Escapes text that must stay on one line; tabs are kept.
  static func line(_ text: String) -> String { escape(text) { scalar, _ in scalar == "\t" } }

  private static func escape(_ text: String, except isKept: (Unicode.Scalar, Unicode.Scalar?) -> Bool) -> String {
    let scalars = text.unicodeScalars
    guard scalars.contains(where: isActive) else { return text }
    var result = ""
    var index = scalars.startIndex
    while index < scalars.endIndex {
      let scalar = scalars[index]
      index = scalars.index(after: index)
      if isActive(scalar), !isKept(scalar, index < scalars.endIndex ? scalars[index] : nil) {
        result += "\\u{\(String(scalar.value, radix: 16))}"
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// Whether a character moves the cursor, starts a sequence or reorders the text around it.
  private static func isActive(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0: true
    case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }
}
