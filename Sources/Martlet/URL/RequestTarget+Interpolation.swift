public import MartletBase

extension RequestTarget: ExpressibleByStringInterpolation {
  /// Creates a target from a literal.
  ///
  /// - Parameter value: A URL, or a reference that is joined to the base URL.
  public init(stringLiteral value: String) {
    storage = .text(value)
  }

  /// Creates a target from an interpolated literal; each value is escaped for its position.
  ///
  /// - Parameter stringInterpolation: The interpolation built by the compiler.
  public init(stringInterpolation: StringInterpolation) {
    let text = stringInterpolation.text
    let problem = stringInterpolation.problem ?? stringInterpolation.segmentProblem()
    storage = problem.map { .invalid(text, $0) } ?? .text(text)
  }

  /// Builds a target from a literal and escapes the values in it.
  public struct StringInterpolation: StringInterpolationProtocol, Sendable {
    fileprivate var text = ""
    /// The first value that is not allowed at its position.
    fileprivate var problem: InvalidInput?
    /// The positions of values in the path, as byte offsets into `text`.
    private var spots: [ClosedRange<Int>] = []
    /// The length of `text` after a `URL` that ends in a slash, where a following slash would be doubled.
    private var endOfSlashedURL: Int?

    /// Creates an empty interpolation.
    ///
    /// - Parameters:
    ///   - literalCapacity: The length of the literal parts.
    ///   - interpolationCount: The number of values.
    public init(literalCapacity: Int, interpolationCount: Int) {
      text.reserveCapacity(literalCapacity + interpolationCount * 16)
    }

    /// Adds a part of the literal, unchanged.
    ///
    /// - Parameter literal: The part.
    public mutating func appendLiteral(_ literal: String) {
      guard !literal.isEmpty else { return }
      let isDoubled = endOfSlashedURL == text.utf8.count && literal.utf8.first == UInt8(ascii: "/")
      text += isDoubled ? Substring(literal.utf8.dropFirst()) : literal[...]
      endOfSlashedURL = nil
    }

    /// Adds a value, escaped for its position.
    ///
    /// A value at the start of the target that is itself a URL makes the target invalid.
    ///
    /// - Parameter value: The value; its `description` is used.
    public mutating func appendInterpolation(_ value: some CustomStringConvertible) {
      append(value.description, keeping: .unreserved)
    }

    /// Adds a URL, unchanged at the start of the target and escaped like text elsewhere.
    ///
    /// - Parameter url: The URL. At the start, a slash at its end and a slash after it count as one.
    public mutating func appendInterpolation(_ url: URL) {
      guard text.isEmpty else { return append(url.absoluteString, keeping: .unreserved) }
      text = url.absoluteString
      guard text.utf8.last == UInt8(ascii: "/"), place == .path else { return }
      endOfSlashedURL = text.utf8.count
    }

    /// Adds items to the query.
    ///
    /// - Parameter query: The items; outside the query they make the target invalid.
    public mutating func appendInterpolation(_ query: Query) {
      guard place == .query else {
        return refuse("a Query was interpolated outside the query of a URL: move it after the ?")
      }
      text += query.encoded
    }

    /// Adds text unchanged, and reads it like a part of the literal.
    ///
    /// - Parameter text: Text that is already encoded. It can change the host: never pass untrusted input.
    public mutating func appendInterpolation(raw text: some StringProtocol) {
      self.text += text
      endOfSlashedURL = nil
    }

    /// Adds a path of several segments.
    ///
    /// - Parameter path: The path as plain text. Slashes are kept, everything else is escaped; an empty segment, `.`
    ///   and `..` make the target invalid.
    public mutating func appendInterpolation(path: some StringProtocol) {
      append(String(path), keeping: .unreservedAndSlash)
    }

    /// Adds a value that is not `CustomStringConvertible`, such as an enum case, escaped for its position.
    ///
    /// - Parameter value: The value, as `String(describing:)` shows it.
    public mutating func appendInterpolation<Value>(_ value: Value) {
      append(String(describing: value), keeping: .unreserved)
    }

    /// Adds an optional value, escaped for its position, or a text in place of `nil`, escaped as well.
    ///
    /// - Parameters:
    ///   - value: The value, as `String(describing:)` shows it.
    ///   - text: The text.
    public mutating func appendInterpolation<Value>(
      _ value: Value?, default text: @autoclosure () -> some StringProtocol
    ) {
      append(value.map { String(describing: $0) } ?? String(text()), keeping: .unreserved)
    }

    /// An optional makes the target invalid: unwrap it first.
    ///
    /// With an unavailable function, the compiler would read the literal as a `String` instead, and nothing in it would be
    /// escaped.
    ///
    /// - Parameter value: An optional.
    @available(*, deprecated, message: "unwrap the optional first: the request will throw an error")
    public mutating func appendInterpolation<Value>(_ value: Value?) {
      refuse("an optional is interpolated: unwrap it first, or write \\(value, default: \"…\")")
    }

    /// A target makes the target invalid: set a base URL instead.
    ///
    /// - Parameter target: A target.
    @available(*, deprecated, message: "set baseURL, or interpolate a URL: the request will throw an error")
    public mutating func appendInterpolation(_ target: RequestTarget) {
      refuse("a target is interpolated into another: set baseURL, or interpolate a URL")
    }
  }
}

extension RequestTarget.StringInterpolation {
  /// The part of the URL that the next value belongs to.
  private enum URLComponent {
    case authority, path, query, fragment
  }

  private var place: URLComponent {
    let parts = URLParts(Array(text.utf8)[...])
    if parts.fragment != nil { return .fragment }
    if parts.query != nil { return .query }
    return parts.authority != nil && parts.path.isEmpty ? .authority : .path
  }

  mutating func refuse(_ message: String) {
    if problem == nil { problem = InvalidInput(message) }
  }

  mutating func append(_ value: String, keeping kept: ASCIISet) {
    let place = place
    endOfSlashedURL = nil
    guard !text.isEmpty || !Self.isURL(value) else {
      return refuse(
        "\"\(URLRedaction.printable(value))\" is interpolated as a string, but is a URL: "
          + "interpolate a URL, write \\(raw:), or set baseURL; begin with / for a path segment")
    }
    guard place != .authority else { return appendToAuthority(value) }
    closeTriplet()
    let start = text.utf8.count
    text += PercentEncoding.encode(value.utf8, keeping: kept)
    if place == .path { spots.append(start...text.utf8.count) }
  }

  /// Whether a value begins with a scheme and `//`, after optional whitespace.
  ///
  /// As a path segment, this value would be sent to the wrong server.
  private static func isURL(_ value: String) -> Bool {
    let parts = URLParts(Array(value.utf8.drop { $0 <= UInt8(ascii: " ") })[...])
    return parts.scheme != nil && parts.authority != nil
  }

  /// Encodes the `%` of an incomplete triplet at the end of the literal.
  ///
  /// Otherwise the first characters of the next value could become its hex digits.
  private mutating func closeTriplet() {
    let tail = Array(text.utf8.suffix(2))
    guard let mark = tail.lastIndex(of: UInt8(ascii: "%")),
      tail[(mark + 1)...].allSatisfy({ PercentEncoding.hexValue($0) != nil })
    else { return }
    text = String(text.utf8.dropLast(tail.count - mark - 1)) ?? text
    text += "25" + String(decoding: tail[(mark + 1)...], as: UTF8.self)
  }

  /// Appends a host name or a part of one, an address, or a port.
  ///
  /// A value that contains a dot must begin at a label: `https://api.test\(x)` must not become
  /// `api.test-other.example`.
  private mutating func appendToAuthority(_ value: String) {
    let bytes = Array(value.utf8)[...]
    let before = text.utf8.last
    let beginsHost = before == UInt8(ascii: "/") || before == UInt8(ascii: "@")
    if bytes.first == UInt8(ascii: "[") || bytes.contains(UInt8(ascii: ":")) {
      let isBracketed = bytes.first == UInt8(ascii: "[") && bytes.last == UInt8(ascii: "]")
      let address = isBracketed ? bytes.dropFirst().dropLast() : bytes
      let isOpened = before == UInt8(ascii: "[") && !isBracketed
      guard IPAddress.six(address) != nil, beginsHost || isOpened else {
        return refuseHost(value)
      }
      text += isOpened ? value : "[\(String(decoding: address, as: UTF8.self))]"
      return
    }
    let beginsLabel = beginsHost || before == UInt8(ascii: ".") || before == UInt8(ascii: ":")
    guard !bytes.isEmpty, before != UInt8(ascii: "%"),
      bytes.allSatisfy({ $0 >= 0x80 || ASCIISet.host.contains($0) }),
      beginsLabel || !bytes.contains(where: { $0 >= 0x80 || $0 == UInt8(ascii: ".") }),
      // If the value alone is a valid international name, its mapped form contains no delimiter (UTS #46).
      bytes.allSatisfy({ $0 < 0x80 }) || (try? URLHost.parse(bytes)) != nil
    else { return refuseHost(value) }
    text += value
  }

  private mutating func refuseHost(_ value: String) {
    let isRest = value.first.map { "/?#".contains($0) } == true
    refuse(
      "\"\(InvalidInput.printable(isRest ? URLRedaction.printable(value) : value))\" cannot be a part of a host"
        + (isRest ? ": begin the path in the literal, or write \\(raw:)" : ""))
  }

  /// Finds a segment of the complete path that a value makes empty, `.` or `..`.
  fileprivate func segmentProblem() -> InvalidInput? {
    guard !spots.isEmpty else { return nil }
    let bytes = Array(text.utf8)[...]
    let parts = URLParts(bytes)
    // Without a scheme the path begins at 0, even if an empty value makes it begin with `//`.
    let start = parts.scheme == nil ? bytes.startIndex : parts.path.startIndex
    let path = bytes[start..<parts.path.endIndex]
    for segment in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
      let holdsValue = spots.contains { $0.lowerBound <= segment.endIndex && $0.upperBound >= segment.startIndex }
      guard holdsValue, segment.isEmpty || URLParser.dots(segment) != nil else { continue }
      let name = segment.isEmpty ? "an empty segment" : "the segment \"\(String(decoding: segment, as: UTF8.self))\""
      return InvalidInput(
        "a value makes \(name) in the path \"\(InvalidInput.printable(String(decoding: path, as: UTF8.self)))\"")
    }
    return nil
  }
}
