import MartletBase

/// The rules for a caller's header fields, as in the article on request safety.
///
/// The rules apply to the complete list of fields, regardless of their source.
enum FieldRules {
  static let maximumFields = 1000
  /// The maximum size of all field lines.
  static let maximumBytes = 256 << 10
  static let maximumURLBytes = 64 << 10

  /// The rule for a field that affects more than the request's meaning.
  private enum Rule {
    /// The field could contradict the framing, or start an unsupported protocol (RFC 9112 §6, RFC 9110 §7.6, §7.8).
    case refused
    /// At most one field is allowed, with a safe value.
    case one((String) -> Bool, String)
  }

  /// Checks the complete list; an error contains no value.
  static func check(_ headers: HTTPHeaders) throws(InvalidInput) {
    var count = 0
    var bytes = 0
    var single: [String] = []
    for field in headers {
      count += 1
      // The colon, the space and the line end.
      bytes += field.name.utf8.count + field.value.utf8.count + 4
      try check(field, &single)
    }
    guard count <= maximumFields else {
      throw InvalidInput("the request has \(count) header fields; at most \(maximumFields) are allowed")
    }
    guard bytes <= maximumBytes else {
      throw InvalidInput("the request's header fields total \(bytes) bytes; at most \(maximumBytes) are allowed")
    }
  }

  /// Checks the length of a URL.
  static func check(_ url: AbsoluteURL) throws(InvalidInput) {
    let count = url.string.utf8.count
    guard count <= maximumURLBytes else {
      throw InvalidInput("the URL has \(count) bytes; at most \(maximumURLBytes) are allowed")
    }
  }

  private static func check(_ field: HTTPHeaders.Field, _ single: inout [String]) throws(InvalidInput) {
    var name: String { InvalidInput.printable(field.name) }
    guard FieldSyntax.isToken(field.name) else { throw InvalidInput("the header name '\(name)' is not a token") }
    guard FieldSyntax.isFieldValue(field.value) else {
      if let edge = InvalidInput.edge(of: field.value, isLegal: { $0.allSatisfy(FieldSyntax.isValueOctet) }) {
        throw InvalidInput("the value of the header '\(name)' \(edge)")
      }
      let octet = FieldSyntax.firstIllegalOctet(inValue: field.value).map { String($0, radix: 16) } ?? "?"
      throw InvalidInput("the value of the header '\(name)' contains the illegal octet 0x\(octet)")
    }
    switch rule(for: field.name) {
    case nil: return
    case .refused: throw InvalidInput("the header '\(name)' is set by the client itself: remove it")
    case .one(let isSafe, let expected):
      guard isSafe(String(FieldSyntax.trimmed(field.value))) else {
        throw InvalidInput("the header '\(name)' must be \(expected)")
      }
      guard !single.contains(where: { FieldSyntax.isSameName($0, field.name) }) else {
        throw InvalidInput("the header '\(name)' is set more than once")
      }
      single.append(field.name)
    }
  }

  private static func rule(for name: String) -> Rule? {
    // Compare lengths first, which distinguishes most names.
    switch name.utf8.count {
    // Transfer codings other than `chunked` cannot be decoded.
    case 2 where FieldSyntax.isSameName(name, "TE"):
      return .one({ FieldSyntax.isSameName($0, "trailers") }, "'trailers' or absent")
    case 4 where FieldSyntax.isSameName(name, "Host"): return .one(isHost, "a host, with a port or without")
    case 6 where FieldSyntax.isSameName(name, "Expect"):
      return .one({ FieldSyntax.isSameName($0, "100-continue") }, "'100-continue' or absent")
    case 7 where FieldSyntax.isSameName(name, "Referer"), 12 where FieldSyntax.isSameName(name, "Content-Type"):
      return .one({ _ in true }, "")
    case 10 where FieldSyntax.isSameName(name, "Connection"):
      return .one({ FieldSyntax.isSameName($0, "close") }, "'close' or absent: the client sets the other options")
    case 7 where FieldSyntax.isSameName(name, "Trailer"), 7 where FieldSyntax.isSameName(name, "Upgrade"),
      10 where FieldSyntax.isSameName(name, "Keep-Alive"), 14 where FieldSyntax.isSameName(name, "Content-Length"),
      14 where FieldSyntax.isSameName(name, "HTTP2-Settings"),
      17 where FieldSyntax.isSameName(name, "Transfer-Encoding"):
      return .refused
    default: break
    }
    guard name.utf8.count > 6, name.utf8.first.map(FieldSyntax.lowercased) == UInt8(ascii: "p"),
      FieldSyntax.isSameName(name.prefix(6), "Proxy-"),
      !FieldSyntax.isSameName(name, "Proxy-Authorization")
    else { return nil }
    return .refused
  }

  /// Whether the value is a host with an optional port, without userinfo (RFC 9110 §7.2).
  private static func isHost(_ value: String) -> Bool {
    guard value.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "@") && $0 != UInt8(ascii: "%") }) else {
      return false
    }
    return (try? URLAuthority(parsing: Array(value.utf8)[...], scheme: "http")) != nil
  }
}
