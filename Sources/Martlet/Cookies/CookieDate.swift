import MartletBase

/// The parser of the `Expires` attribute (RFC 6265bis §5.1.1).
///
/// Servers use many formats, so the parts may be in any order, with anything between them.
enum CookieDate {
  /// Parses a date; `nil` if a part is missing or the date is invalid.
  static func parse(_ octets: some Collection<UInt8>) -> Date? {
    var time: (hour: Int, minute: Int, second: Int)?
    var day: Int?
    var month: Int?
    var year: Int?
    for token in octets.split(whereSeparator: ASCIISet.cookieDateDelimiters.contains) {
      let token = Array(token)[...]
      if time == nil, let found = readTime(token) {
        time = found
      } else if day == nil, let found = readNumber(token, digits: 1...2) {
        day = found
      } else if month == nil, let found = readMonth(token) {
        month = found
      } else if year == nil, let found = readNumber(token, digits: 2...4) {
        year = found
      }
    }
    guard let time, let day, let month, var year else { return nil }
    if 70...99 ~= year { year += 1_900 } else if 0...69 ~= year { year += 2_000 }
    let civil = CivilTime(
      year: year, month: month, day: day, hour: time.hour, minute: time.minute, second: time.second)
    guard year >= 1_601, time.second <= 59, civil.isPossible else { return nil }
    return Date(timeIntervalSince1970: TimeInterval(civil.seconds))
  }

  /// Parses `1*2DIGIT ":" 1*2DIGIT ":" 1*2DIGIT`; a nondigit and more text may follow.
  private static func readTime(_ token: ArraySlice<UInt8>) -> (hour: Int, minute: Int, second: Int)? {
    let fields = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
    guard fields.count == 3, fields[0].allSatisfy(isDigit), fields[1].allSatisfy(isDigit),
      let hour = readNumber(fields[0], digits: 1...2), let minute = readNumber(fields[1], digits: 1...2),
      let second = readNumber(fields[2], digits: 1...2)
    else { return nil }
    return (hour, minute, second)
  }

  /// Parses a number with this many digits; a nondigit and more text may follow.
  private static func readNumber(_ token: ArraySlice<UInt8>, digits: ClosedRange<Int>) -> Int? {
    let number = token.prefix(while: isDigit)
    guard digits.contains(number.count) else { return nil }
    return FieldSyntax.parseDigits(number).map { Int(clamping: $0) }
  }

  private static func readMonth(_ token: ArraySlice<UInt8>) -> Int? {
    let start = String(decoding: token.prefix(3), as: UTF8.self)
    return HTTPDate.months.firstIndex { FieldSyntax.isSameName($0, start) }.map { $0 + 1 }
  }

  private static func isDigit(_ octet: UInt8) -> Bool { 0x30...0x39 ~= octet }
}
