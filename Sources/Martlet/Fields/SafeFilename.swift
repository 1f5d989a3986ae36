import MartletBase

/// Turns a name chosen by a peer into one harmless path component.
///
/// Works on Unicode scalars: a `Character` may hide a separator under an accent.
enum SafeFilename {
  /// The maximum length of a name in UTF-8 bytes on all usual file systems.
  static let maximumBytes = 255
  /// The maximum number of Unicode scalars in an extension, including its dot.
  private static let maximumExtension = 16

  /// Returns the name that a response suggests, or `nil` if there is none.
  static func suggested(by headers: HTTPHeaders, for url: AbsoluteURL?) -> String? {
    let named = headers["Content-Disposition"].map(ContentDisposition.filenames) ?? []
    if let name = named.lazy.compactMap(make).first { return name }
    guard let url else { return nil }
    let last = url.path.utf8.reversed().prefix { $0 != UInt8(ascii: "/") }.reversed()
    return make(of: ReceivedFields.text(PercentEncoding.decode(Array(last)[...])))
  }

  /// Returns the last path component without harmful characters, or `nil` if nothing is left.
  ///
  /// Illegal and invisible characters, and those with a special meaning on some system, are removed or replaced. The
  /// result is never empty, `.` or `..`, and does not change if it is made safe again.
  static func make(of name: String) -> String? {
    var scalars = String.UnicodeScalarView()
    for scalar in name.unicodeScalars {
      switch scalar {
      case "/", "\\": scalars.removeAll()
      // Illegal on Windows. The colon is also a separator on macOS, and names streams on NTFS.
      case ":", "*", "?", "\"", "<", ">", "|": scalars.append("_")
      default:
        switch scalar.properties.generalCategory {
        // Bidirectional format characters can hide the true extension.
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: break
        case .spaceSeparator: if scalars.last != " " { scalars.append(" ") }
        default: scalars.append(scalar)
        }
      }
    }
    let trimmed = trimmed(scalars[...])
    guard !trimmed.isEmpty else { return nil }
    let short = cut(String(trimmed))
    return isReserved(short) ? cut("_" + short) : short
  }

  /// Removes dots and spaces at both ends.
  ///
  /// A dot at the start hides a file, and Windows silently drops both at the end.
  private static func trimmed(_ scalars: Substring.UnicodeScalarView) -> Substring.UnicodeScalarView {
    func isEdge(_ scalar: Unicode.Scalar) -> Bool { scalar == "." || scalar == " " }
    guard let first = scalars.firstIndex(where: { !isEdge($0) }), let last = scalars.lastIndex(where: { !isEdge($0) })
    else { return scalars.prefix(0) }
    return scalars[first...last]
  }

  /// Whether the name is a device on Windows, with any extension.
  private static func isReserved(_ name: String) -> Bool {
    let stem = name.unicodeScalars.prefix { $0 != "." }
    let folded = FieldSyntax.lowercased(String(String.UnicodeScalarView(trimmed(stem))))
    if ["con", "prn", "aux", "nul", "conin$", "conout$"].contains(folded) { return true }
    guard folded.hasPrefix("com") || folded.hasPrefix("lpt") else { return false }
    return ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³"].contains(folded.dropFirst(3))
  }

  /// Shortens a name between characters and keeps its extension.
  static func cut(_ name: String, to bytes: Int = maximumBytes) -> String {
    guard name.utf8.count > bytes else { return name }
    let (stem, end) = parts(name)
    return String(trimmed(prefix(of: stem, bytes: bytes - end.utf8.count).unicodeScalars)) + end
  }

  /// Adds a number before the extension, such as in `a (1).txt`.
  static func numbered(_ name: String, _ number: Int) -> String {
    let (stem, end) = parts(name)
    let mark = " (\(number))\(end)"
    return prefix(of: stem, bytes: maximumBytes - mark.utf8.count) + mark
  }

  /// The name without its extension, and the extension with its dot.
  private static func parts(_ name: String) -> (stem: Substring, end: String) {
    let scalars = name.unicodeScalars
    let dot = scalars.lastIndex(of: ".").flatMap { dot in
      let isExtension = dot > scalars.startIndex && scalars[dot...].count <= maximumExtension
      return isExtension && !scalars[dot...].contains(" ") ? dot : nil
    }
    return (Substring(scalars[..<(dot ?? scalars.endIndex)]), String(scalars[(dot ?? scalars.endIndex)...]))
  }

  private static func prefix(of text: Substring, bytes: Int) -> Substring {
    var count = 0
    var end = text.startIndex
    while end < text.endIndex {
      count += text[end].utf8.count
      if count > bytes { break }
      end = text.index(after: end)
    }
    if end > text.startIndex { return text[..<end] }
    // A single character with hundreds of accents: cut it between scalars.
    count = 0
    let scalars = text.unicodeScalars.prefix {
      count += UTF8.width($0)
      return count <= bytes
    }
    return Substring(scalars)
  }
}
