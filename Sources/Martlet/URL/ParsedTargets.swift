import MartletBase

/// A cache of parsed URLs, so repeated targets are parsed once.
///
/// Bounded in number and length. URLs with credentials are not cached.
final class ParsedTargets: Sendable {
  private struct Entry {
    var text: String
    var url: AbsoluteURL
  }

  private static let count = 32
  private static let maximumLength = 512

  private let base: RequestTarget?
  private let entries = Locked([Entry?](repeating: nil, count: ParsedTargets.count))

  /// Creates a cache; relative targets are appended to `base`.
  init(base: RequestTarget?) { self.base = base }

  /// The URL of a target, as ``RequestTarget/resolve(against:adding:)`` makes it.
  func url(of target: RequestTarget, adding query: Query) throws(InvalidInput) -> AbsoluteURL {
    guard case .text(let text) = target.storage, query.isEmpty, text.utf8.count <= Self.maximumLength else {
      return try target.resolve(against: base, adding: query)
    }
    // FNV-1a is faster than `hashValue`, and colliding targets are merely parsed again.
    let hash = text.utf8.withContiguousStorageIfAvailable {
      $0.reduce(2_166_136_261 as UInt32) { ($0 ^ UInt32($1)) &* 16_777_619 }
    }
    let place = hash.map { Int(($0 ^ $0 >> 15) % UInt32(Self.count)) } ?? 0
    let known: AbsoluteURL? = entries.withLock { entries in
      // Only ASCII is kept. A text that is equal to ASCII but has other octets, and thus is another URL, is longer.
      guard let entry = entries[place], entry.text == text, entry.text.utf8.count == text.utf8.count else { return nil }
      return entry.url
    }
    if let known { return known }
    let url = try target.resolve(against: base)
    guard url.user == nil, url.password == nil, text.utf8.allSatisfy({ $0 < 0x80 }) else { return url }
    let previous = entries.withLock { exchange(&$0[place], with: Entry(text: text, url: url)) }
    // The previous entry is released after unlocking.
    _ = previous
    return url
  }
}
