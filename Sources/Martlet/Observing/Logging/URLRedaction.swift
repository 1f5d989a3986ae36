/// Removes secrets from text that is, or was meant to be, a URL.
enum URLRedaction {
  /// Drops userinfo and fragment and masks query values; the result is not yet escaped.
  ///
  /// Text that is not a URL is treated with suspicion: text before an `@` that could be meant as userinfo is dropped
  /// too. By default every value is masked; `hides` receives names as they are written.
  static func redact(_ text: String, hiding hides: (ArraySlice<UInt8>) -> Bool = { _ in true }) -> String {
    let bytes = Array(text.utf8)[...]
    let parts = URLParts(bytes)
    var result = ""
    if let scheme = parts.scheme { result += "\(string(scheme)):" }
    if let authority = parts.authority {
      if hasDoubtfulPort(authority), bytes.contains(UInt8(ascii: "@")) { return "\(result)//***" }
      // An extra slash turns the intended authority into a path.
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

  /// The redacted text, escaped and truncated for a message.
  static func printable(_ text: String) -> String {
    InvalidInput.printable(redact(text))
  }

  /// Masks the values of a query and keeps its names.
  private static func mask(_ query: ArraySlice<UInt8>, _ hides: (ArraySlice<UInt8>) -> Bool) -> String {
    query.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map { item in
      if let masked = masked(item, hides) { return masked }
      // Some servers treat a semicolon as an ampersand. A masked value includes its semicolons.
      let parts = item.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
      return parts.map { masked($0, hides) ?? string($0) }.joined(separator: ";")
    }
    .joined(separator: "&")
  }

  /// The item with its value masked, or `nil` if nothing is hidden.
  private static func masked(_ item: ArraySlice<UInt8>, _ hides: (ArraySlice<UInt8>) -> Bool) -> String? {
    guard let equals = item.firstIndex(of: UInt8(ascii: "=")), hides(item[..<equals]) else { return nil }
    return string(item[...equals]) + "***"
  }

  private static func afterLastAt(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    guard let at = bytes.lastIndex(of: UInt8(ascii: "@")) else { return bytes }
    return bytes[(at + 1)...]
  }

  /// Whether the port may be the first half of a password with a bare `/`, `?` or `#`.
  private static func hasDoubtfulPort(_ authority: ArraySlice<UInt8>) -> Bool {
    guard !authority.contains(UInt8(ascii: "@")), authority.first != UInt8(ascii: "["),
      let colon = authority.firstIndex(of: UInt8(ascii: ":"))
    else { return false }
    return !authority[(colon + 1)...].allSatisfy { 0x30...0x39 ~= $0 }
  }

  private static func string(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes, as: UTF8.self)
  }
}
