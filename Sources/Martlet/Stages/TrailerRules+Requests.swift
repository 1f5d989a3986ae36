import MartletBase

extension TrailerRules {
  /// The maximum size of a request's trailers: libcurl's limit, less room for the end.
  static let maximumBytes = (64 << 10) - 64

  /// Checks the trailer names that a request announces.
  static func check(names: [String]) throws(InvalidInput) {
    guard !names.isEmpty else { throw InvalidInput("no trailer names: list the trailers that follow the body") }
    for name in names {
      let shown = InvalidInput.printable(name)
      guard FieldSyntax.isToken(name) else { throw InvalidInput("the trailer name '\(shown)' is not a token") }
      guard allows(name.utf8) else {
        throw InvalidInput("'\(shown)' cannot be a trailer (RFC 9110 §6.5.1): make it a header field")
      }
    }
  }

  /// Checks the trailers that follow a body; an error contains no value.
  static func check(_ trailers: HTTPHeaders, names: [String]) throws(InvalidInput) {
    try FieldRules.check(trailers)
    var bytes = 0
    for field in trailers {
      bytes += field.name.utf8.count + field.value.utf8.count + 4
      guard names.contains(where: { FieldSyntax.isSameName($0, field.name) }) else {
        let name = InvalidInput.printable(field.name)
        throw InvalidInput("the trailer '\(name)' was not announced: add its name to the body's trailer names")
      }
    }
    guard bytes <= maximumBytes else {
      throw InvalidInput("the request's trailers total \(bytes) bytes; at most \(maximumBytes) are allowed")
    }
  }
}
