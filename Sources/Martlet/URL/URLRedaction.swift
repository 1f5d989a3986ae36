/// Removes secrets from text that is, or was meant to be, a URL.
enum URLRedaction {
  /// Drops userinfo and fragment, and masks query values and secrets in the path; the result is not yet escaped.
  ///
  /// Text that is not a URL is treated with suspicion: text before an `@` that could be meant as userinfo is dropped
  /// too. By default every query value is masked.
  static func redact(_ text: String, _ redaction: Redaction = .strict) -> String {
    let bytes = Array(text.utf8)[...]
    let parts = URLParts(bytes)
    var result = ""
    if let scheme = parts.scheme { result += "\(string(scheme)):" }
    if let authority = parts.authority {
      // An extra slash turns the intended authority into a path.
      let path = authority.isEmpty ? afterLastAt(parts.path) : parts.path
      let slash = UInt8(ascii: "/")
      let intended = authority.isEmpty ? parts.path.drop { $0 == slash }.prefix { $0 != slash } : authority
      let name = PercentEncoding.decode(afterLastAt(intended))
      if SecretShapes.isUserinfo(name[...], isLast: intended.endIndex == bytes.endIndex) { return "\(result)//***" }
      let host = afterLastAt(authority)
      result += "//" + string(host) + mask(path: path, host: host, redaction)
    } else if parts.scheme != nil || parts.hasColonInFirstSegment {
      result += mask(path: afterLastAt(parts.path), host: [], redaction)
    } else {
      let slash = parts.path.firstIndex(of: UInt8(ascii: "/")) ?? parts.path.endIndex
      result += mask(path: afterLastAt(parts.path[..<slash]) + parts.path[slash...], host: [], redaction)
    }
    if let query = parts.query { result += "?" + string(redaction.items(query)[...]) }
    return result
  }

  /// The redacted text, escaped and truncated for a message.
  static func printable(_ text: String) -> String {
    InvalidInput.printable(redact(text))
  }

  /// Masks secret segments of a path and the values of secret parameters of segments (RFC 3986 §3.3).
  private static func mask(path: ArraySlice<UInt8>, host: ArraySlice<UInt8>, _ redaction: Redaction) -> String {
    let segments = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map { segment in
      segment.contains(UInt8(ascii: ";")) ? redaction.items(segment)[...] : segment
    }
    let masked = segments.joined(separator: [UInt8(ascii: "/")])
    let text = DecodedText(Array(masked))
    var edits = MaskEdits()
    for secret in redaction.secrets(inPath: text.octets[...], host: host) {
      edits.mask(text.source(secret.lowerBound)..<text.source(secret.upperBound))
    }
    return string(edits.applied(to: Array(masked))[...])
  }

  private static func afterLastAt(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    guard let at = bytes.lastIndex(of: UInt8(ascii: "@")) else { return bytes }
    return bytes[(at + 1)...]
  }

  private static func string(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes, as: UTF8.self)
  }
}
