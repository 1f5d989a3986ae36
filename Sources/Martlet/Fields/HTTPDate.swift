public import MartletBase

/// A date in the format of header fields, in whole seconds and UTC (RFC 9110 §5.6.7).
///
/// Years range from 0000 to 9999, because the format has four digits.
public struct HTTPDate: Sendable, Hashable, Comparable {
  /// The date, a whole number of seconds.
  public let date: Date

  /// Rounds a date down to a whole second.
  ///
  /// A date before the year 0000 or after 9999 becomes the nearest date that can be written; a date that is not a
  /// number becomes 1970-01-01.
  public init(_ date: Date) {
    let interval = date.timeIntervalSince1970
    self.init(seconds: interval.isNaN ? 0 : Int64(min(max(interval.rounded(.down), -1e12), 1e12)))
  }

  /// Parses any of the three formats that a recipient must accept, ignoring surrounding blanks.
  ///
  /// The formats are `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`,
  /// and case matters. The day name must be valid, but need not match the date. A second of 60 is accepted only at
  /// 23:59.
  ///
  /// - Parameters:
  ///   - text: The field value.
  ///   - now: The date that two-digit years are relative to: a year more than 50 years in the future is taken to be in
  ///     the past.
  public init?(_ text: String, now: Date = .now) {
    var reader = Reader(rest: Array(FieldSyntax.trimmed(text).utf8)[...])
    guard let civil = reader.readDate(now: HTTPDate(now)), reader.rest.isEmpty, civil.isPossible else { return nil }
    self.init(seconds: civil.seconds)
  }

  /// Creates a date from seconds since 1970, clamped to four-digit years.
  private init(seconds: Int64) {
    let clamped = min(max(seconds, -62_167_219_200), 253_402_300_799)
    date = Date(timeIntervalSince1970: TimeInterval(clamped))
  }

  /// Orders dates chronologically.
  public static func < (left: HTTPDate, right: HTTPDate) -> Bool {
    left.date < right.date
  }

  /// Seconds since 1970; exact, since `date` is whole and in range.
  private var seconds: Int64 { Int64(date.timeIntervalSince1970.rounded()) }
}

extension HTTPDate: CustomStringConvertible {
  /// The date in the format that a sender must generate, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
  public var description: String {
    let civil = CivilTime(seconds: seconds)
    let weekday = Self.weekdays[civil.weekday].prefix(3)
    let month = Self.months[civil.month - 1]
    let time = [civil.hour, civil.minute, civil.second].map { $0.digits(2) }.joined(separator: ":")
    return "\(weekday), \(civil.day.digits(2)) \(month) \(civil.year.digits(4)) \(time) GMT"
  }

  private static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
  static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
}

/// A date and time of day in UTC, in the proleptic Gregorian calendar.
///
/// Days are counted in eras of 400 years that start on 1 March, so the leap day comes last. Years have four
/// digits, so nothing can overflow.
struct CivilTime {
  var year: Int
  var month: Int
  var day: Int
  var hour: Int
  var minute: Int
  var second: Int

  /// Days since 1970-01-01.
  var days: Int64 {
    let yearFromMarch = Int64(month <= 2 ? year - 1 : year)
    let (era, yearOfEra) = Self.floorDivide(yearFromMarch, 400)
    let monthFromMarch = Int64(month > 2 ? month - 3 : month + 9)
    let dayOfYear = (153 * monthFromMarch + 2) / 5 + Int64(day) - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  /// Seconds since 1970-01-01 00:00:00.
  var seconds: Int64 { days * 86_400 + Int64(hour) * 3_600 + Int64(minute) * 60 + Int64(second) }

  /// The day of the week, with Sunday as 0; 1970-01-01 was a Thursday.
  var weekday: Int { Int(Self.floorDivide(days + 4, 7).remainder) }

  /// Whether the date and the time exist, including the leap second.
  var isPossible: Bool {
    guard 0...9_999 ~= year, 1...12 ~= month, 1...daysInMonth ~= day else { return false }
    return hour <= 23 && minute <= 59 && (second <= 59 || (second == 60 && hour == 23 && minute == 59))
  }

  private var daysInMonth: Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  private static func floorDivide(_ value: Int64, _ divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}

extension HTTPDate {
  /// Parses a date; fails at the first unexpected octet, and leaves what follows the date in `rest`.
  private struct Reader {
    var rest: ArraySlice<UInt8>

    mutating func readDate(now: HTTPDate) -> CivilTime? {
      for weekday in HTTPDate.weekdays where read(weekday + ", ") { return readRFC850(now: now) }
      guard HTTPDate.weekdays.contains(where: { read(String($0.prefix(3))) }) else { return nil }
      return read(", ") ? readGMT(" ", yearWidth: 4) : readAsctime()
    }

    /// `06 Nov 1994 08:49:37 GMT`, with a separator of day, month and year.
    private mutating func readGMT(_ separator: String, yearWidth: Int) -> CivilTime? {
      guard let day = readNumber(2), read(separator), let month = readMonth(), read(separator),
        let year = readNumber(yearWidth), read(" "), let time = readTime(), read(" GMT")
      else { return nil }
      return CivilTime(year: year, month: month, day: day, hour: time.hour, minute: time.minute, second: time.second)
    }

    /// `06-Nov-94 08:49:37 GMT`.
    private mutating func readRFC850(now: HTTPDate) -> CivilTime? {
      guard var civil = readGMT("-", yearWidth: 2) else { return nil }
      var limit = CivilTime(seconds: now.seconds)
      // The latest year with these two digits that is not more than 50 years ahead.
      civil.year += limit.year - limit.year % 100 + 100
      limit.year += 50
      while civil.seconds > limit.seconds { civil.year -= 100 }
      return civil
    }

    /// ` Nov  6 08:49:37 1994`.
    private mutating func readAsctime() -> CivilTime? {
      guard read(" "), let month = readMonth(), read(" "), let day = read(" ") ? readNumber(1) : readNumber(2),
        read(" "), let time = readTime(), read(" "), let year = readNumber(4)
      else { return nil }
      return CivilTime(year: year, month: month, day: day, hour: time.hour, minute: time.minute, second: time.second)
    }

    private mutating func readTime() -> (hour: Int, minute: Int, second: Int)? {
      guard let hour = readNumber(2), read(":"), let minute = readNumber(2), read(":"), let second = readNumber(2)
      else { return nil }
      return (hour, minute, second)
    }

    private mutating func readMonth() -> Int? {
      HTTPDate.months.firstIndex { read($0) }.map { $0 + 1 }
    }

    private mutating func readNumber(_ width: Int) -> Int? {
      guard rest.count >= width, let number = FieldSyntax.parseDigits(rest.prefix(width)) else { return nil }
      rest = rest.dropFirst(width)
      return Int(number)
    }

    private mutating func read(_ text: String) -> Bool {
      guard rest.starts(with: text.utf8) else { return false }
      rest = rest.dropFirst(text.utf8.count)
      return true
    }
  }
}

extension CivilTime {
  init(seconds: Int64) {
    let (daysSince1970, secondOfDay) = Self.floorDivide(seconds, 86_400)
    // 719468 days lie between 0000-03-01 and 1970-01-01.
    let (era, dayOfEra) = Self.floorDivide(daysSince1970 + 719_468, 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    month = Int(monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9)
    day = Int(dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    year = Int(era * 400 + yearOfEra) + (month <= 2 ? 1 : 0)
    hour = Int(secondOfDay / 3_600)
    minute = Int(secondOfDay / 60 % 60)
    second = Int(secondOfDay % 60)
  }
}
