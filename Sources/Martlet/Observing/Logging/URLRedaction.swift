/// Takes the secrets out of text that is, or was meant to be, a URL.
enum URLRedaction {
  /// Drops userinfo and fragment and masks query values; the result is not yet fit for a line.
  ///
  /// Text that is not a URL is treated with suspicion: what stands before an `@` where userinfo could have been meant
  /// is dropped too. By default every value is masked; `hides` is asked with names as they are written.
  static func redact(_ text: String, hiding hides: (ArraySlice<UInt8>) -> Bool = { _ in true }) -> String {
    let bytes = Array(text.utf8)[...]
    let parts = URLParts(bytes)
    var result = ""
    if let scheme = parts.scheme { result += "\(string(scheme)):" }
    if let authority = parts.authority {
      if hasDoubtfulPort(authority), bytes.contains(UInt8(ascii: "@")) { return "\(result)//***" }
      // One slash too many makes a path of what was meant as the authority.
      let path = authority.isEmpty ? afterLastAt(parts.path) : parts.path
      result += "//" + string(afterLastAt(authority)) + string(path)
    } else if parts.scheme != nil || parts.hasColonInFirstSegment {
      result += string(afterLastAt(parts.path))
    } else {
      let slash = parts.path.firstIndex(of: UInt8(ascii: "/")) ?? parts.path.endIndex
      result += string(afterLastAt(parts.path[..<slash])) + string(parts.path[slash...])
    }
    if let query = parts.query { result += "?\(mask(query, hides))" }
    return result
  }

  /// The redacted text, escaped and cut for a message.
  static func printable(_ text: String) -> String {
    InvalidInput.printable(redact(text))
  }

  /// Keeps the names of a query and hides values.
  static func mask(_ query: ArraySlice<UInt8>, _ hides: (ArraySlice<UInt8>) -> Bool) -> String {
    pieces(of: query, at: "&").map { piece in
      if let masked = masked(piece, hides) { return masked }
      // Some servers take a semicolon for an ampersand; what is hidden anyway has its own in it.
      return pieces(of: piece, at: ";").map { masked($0, hides) ?? string($0) }.joined(separator: ";")
    }
    .joined(separator: "&")
  }

  private static func pieces(of text: ArraySlice<UInt8>, at mark: Character) -> [ArraySlice<UInt8>] {
    text.split(separator: mark.asciiValue ?? 0, omittingEmptySubsequences: false)
  }

  /// The item with its value hidden, if it has to be.
  private static func masked(_ item: ArraySlice<UInt8>, _ hides: (ArraySlice<UInt8>) -> Bool) -> String? {
    guard let equals = item.firstIndex(of: UInt8(ascii: "=")), hides(item[..<equals]) else { return nil }
    return string(item[...equals]) + "***"
  }

  private static func afterLastAt(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    guard let at = bytes.lastIndex(of: UInt8(ascii: "@")) else { return bytes }
    return bytes[(at + 1)...]
  }

  /// Whether a password with a bare `/`, `?` or `#` may have been cut in two, its first half taken for a port.
  private static func hasDoubtfulPort(_ authority: ArraySlice<UInt8>) -> Bool {
    guard !authority.contains(UInt8(ascii: "@")), authority.first != UInt8(ascii: "["),
      let colon = authority.firstIndex(of: UInt8(ascii: ":"))
    else { return false }
    return !authority[(colon + 1)...].allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
  }

  private static func string(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes, as: UTF8.self)
  }
}
