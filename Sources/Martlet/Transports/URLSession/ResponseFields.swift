#if canImport(Darwin) || URLSession
  import MartletBase
  import Foundation

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  /// Converts the header fields of a session's response.
  enum ResponseFields {
    /// The header fields, the length of the decoded body if known, and whether it was coded.
    static func convert(
      _ response: HTTPURLResponse, method: HTTPMethod
    ) -> (headers: HTTPHeaders, length: Int64?, wasCoded: Bool) {
      var headers = HTTPHeaders()
      // Their order is lost; sorting makes it at least deterministic.
      let fields = response.allHeaderFields.compactMap { key, value in
        (key as? String).map { (name: $0, value: value as? String ?? String(describing: value)) }
      }
      for field in fields.ordered(by: { $0.name < $1.name }) {
        if FieldSyntax.isSameName(field.name, "Set-Cookie") {
          for cookie in splitCookies(field.value) { headers.append(cookie, for: field.name) }
        } else {
          headers.append(String(FieldSyntax.trimmed(field.value)), for: field.name)
        }
      }
      let hasBody = method != .head && response.statusCode != 204 && response.statusCode != 304
      guard hasBody else { return (headers, nil, false) }
      if !RepresentationVersion.coding(headers).isEmpty {
        // They describe the bytes on the wire, which the loader has decoded.
        headers.remove("Content-Encoding")
        headers.remove("Content-Length")
        return (headers, nil, true)
      }
      return (headers, headers.contains("Transfer-Encoding") ? nil : headers.contentLength, false)
    }

    /// Splits `Set-Cookie` values that were joined by `, `.
    ///
    /// A value begins where `name=` follows a comma and a space. In `Expires=Wed, 21 Oct 2026 07:28:00 GMT` something
    /// else follows the comma. A value that itself contains `, name=` is split, because it is indistinguishable from two
    /// cookies.
    static func splitCookies(_ value: String) -> [String] {
      let bytes = Array(value.utf8)
      var parts: [String] = []
      var start = 0
      func cut(at end: Int) {
        let part = FieldSyntax.trimmed(String(decoding: bytes[start..<end], as: UTF8.self))
        if !part.isEmpty { parts.append(String(part)) }
      }
      var index = 0
      while index < bytes.count {
        defer { index += 1 }
        guard bytes[index] == UInt8(ascii: ","), index + 1 < bytes.count, bytes[index + 1] == UInt8(ascii: " ") else {
          continue
        }
        let rest = bytes[(index + 2)...].drop { $0 == UInt8(ascii: " ") }
        let name = rest.prefix { !isEndOfName($0) }
        guard !name.isEmpty, name.endIndex < bytes.count, bytes[name.endIndex] == UInt8(ascii: "=") else { continue }
        cut(at: index)
        start = index + 1
        index = name.endIndex
      }
      cut(at: bytes.count)
      return parts
    }

    private static func isEndOfName(_ byte: UInt8) -> Bool {
      switch byte {
      case UInt8(ascii: "="), UInt8(ascii: ";"), UInt8(ascii: ","), UInt8(ascii: "\""), 0...0x20, 0x7F: true
      default: false
      }
    }
  }
#endif
