import MartletBase

/// The age and the lifetime of a stored response (RFC 9111 §4.2), in seconds.
struct Freshness: Sendable, Equatable {
  /// The source of the lifetime.
  enum Basis: Sendable, Equatable {
    /// Set by the program.
    case program
    /// `max-age`.
    case maximumAge
    /// `Expires` minus `Date`.
    case expires
    /// A tenth of the time from `Last-Modified` to `Date`.
    case heuristic
    /// No lifetime: the response must be revalidated.
    case none
  }

  /// The maximum heuristic lifetime: a week.
  static let maximumGuess: TimeInterval = 7 * 86_400

  let lifetime: TimeInterval
  let basis: Basis
  let age: TimeInterval

  var isFresh: Bool { lifetime > age }
  /// The time since the response became stale; negative while it is fresh.
  var staleness: TimeInterval { age - lifetime }

  init(_ entry: CacheEntry, at now: Date) {
    age = Self.age(of: entry, at: now)
    (lifetime, basis) = entry.programLifetime.map { ($0, .program) } ?? Self.lifetime(of: entry)
  }

  /// Calculates the age (RFC 9111 §4.2.3).
  ///
  /// If the clock was set back to before the response's arrival, the age is unknown and counts as infinite.
  private static func age(of entry: CacheEntry, at now: Date) -> TimeInterval {
    let resident = now.timeIntervalSince(entry.responseTime)
    guard resident > -tolerance else { return .greatestFiniteMagnitude }
    let apparent = entry.date.map { max(0, entry.responseTime.timeIntervalSince($0)) } ?? 0
    let delay = max(0, entry.responseTime.timeIntervalSince(entry.requestTime))
    return max(apparent, TimeInterval(entry.ageValue) + delay) + max(0, resident)
  }

  /// Parses a date, ignoring the case of letters (RFC 9111 §4.2).
  private static func date(_ text: String) -> Date? {
    if let date = HTTPDate(text) { return date.date }
    var isInWord = false
    let octets = FieldSyntax.lowercased(text).utf8.map { octet -> UInt8 in
      let isLetter = 0x61...0x7A ~= octet
      defer { isInWord = isLetter }
      return isLetter && !isInWord ? octet - 0x20 : octet
    }
    let words = String(decoding: octets, as: UTF8.self)
    return HTTPDate(words.hasSuffix("Gmt") ? "\(words.dropLast(3))GMT" : words)?.date
  }

  /// The clock adjustment that is ignored, in seconds.
  private static let tolerance: TimeInterval = 5

  /// Calculates the lifetime (RFC 9111 §4.2.1); `s-maxage` applies only to shared caches.
  private static func lifetime(of entry: CacheEntry) -> (TimeInterval, Basis) {
    if let seconds = entry.control.seconds("max-age") { return (TimeInterval(seconds), .maximumAge) }
    let expires = entry.headers[all: "Expires"]
    if !expires.isEmpty {
      // Invalid dates, especially "0", are in the past (§5.3); two different dates count as invalid.
      guard Set(expires).count == 1, let end = Self.date(expires[0]) else { return (0, .expires) }
      return (max(0, end.timeIntervalSince(entry.date ?? entry.responseTime)), .expires)
    }
    guard CacheRules.isHeuristicallyCacheable(entry.status) || entry.control.has("public"),
      let modified = entry.lastModified.flatMap({ HTTPDate($0)?.date })
    else { return (0, .none) }
    let guess = (entry.date ?? entry.responseTime).timeIntervalSince(modified) / 10
    return (min(max(0, guess), maximumGuess), .heuristic)
  }
}
