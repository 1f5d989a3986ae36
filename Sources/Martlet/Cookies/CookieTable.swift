import MartletBase

/// The cookies of a jar (RFC 6265bis §5.7, §5.8).
///
/// A value without a clock, a lock or a file.
struct CookieTable: Sendable {
  static let maximumPerDomain = 50
  static let maximumCount = 3_000

  /// A change to save in the jar's storage.
  struct Change: Sendable {
    let key: Cookie.Key
    /// The current cookie; `nil` if it was removed.
    let cookie: Cookie?
  }

  /// The kind of changes to record.
  enum Journal: Sendable {
    case off
    /// Changes of cookies that outlive the session.
    case persistent
    case everything

    /// Whether the storage keeps a cookie.
    func keeps(_ cookie: Cookie) -> Bool {
      switch self {
      case .off: false
      case .persistent: !cookie.isSessionCookie
      case .everything: true
      }
    }
  }

  let journal: Journal
  private(set) var count = 0
  /// The recorded change of each cookie, with its position.
  ///
  /// The order is kept, because servers can observe the order of cookies.
  private var noted: [Cookie.Key: (place: Int, change: Change)] = [:]
  private var nextPlace = 0
  /// A cookie, and its number in the order of insertion: cookies of one response have the same creation date.
  private typealias Entry = (cookie: Cookie, number: Int)
  private var byDomain: [String: [Entry]] = [:]
  private var nextNumber = 0

  init(journal: Journal = .off) { self.journal = journal }

  // MARK: Reading

  /// All unexpired cookies, by domain.
  func all(_ now: Date) -> [Cookie] {
    byDomain.ordered { $0.key < $1.key }.flatMap { $0.value.map(\.cookie) }.filter { !$0.isExpired(now) }
  }

  /// All unexpired cookies, oldest first.
  func inOrder(_ now: Date) -> [Cookie] { sorted(by: \.created).filter { !$0.isExpired(now) } }

  /// All cookies by a date, and by their insertion if it is the same.
  private func sorted(by date: KeyPath<Cookie, Date>) -> [Cookie] {
    let entries = byDomain.values.flatMap { $0 }
    let places = entries.map { ($0.cookie[keyPath: date], $0.number) }
    return entries.indices.ordered { places[$0] < places[$1] }.map { entries[$0].cookie }
  }

  /// The cookies of a request: longer paths first, then older cookies.
  ///
  /// The partition is a ``NetworkPartition/authority``; without one, the result has the cookies of all clients.
  mutating func select(
    for url: AbsoluteURL, _ relation: SiteRelation, in partition: String? = nil, now: Date
  ) -> [Cookie] {
    guard count > 0 else { return [] }
    var found: [Entry] = []
    for domain in Self.domains(of: url.host) {
      guard let entries = byDomain[domain] else { continue }
      let isHost = domain.utf8.count == url.host.utf8.count
      for index in entries.indices where isHost || !entries[index].cookie.isHostOnly {
        guard entries[index].cookie.isVisible(in: partition), entries[index].cookie.goes(to: url, relation, now: now)
        else { continue }
        byDomain[domain]?[index].cookie.lastAccess = now
        found.append(entries[index])
      }
    }
    let sorted = found.sorted { first, second in
      let (left, right) = (first.cookie.path.utf8.count, second.cookie.path.utf8.count)
      guard left == right else { return left > right }
      return (first.cookie.created, first.number) < (second.cookie.created, second.number)
    }
    return sorted.map(\.cookie)
  }

  /// The stored cookies for a URL's host that are not sent, and why.
  func withheld(from url: AbsoluteURL, _ relation: SiteRelation, in partition: String, now: Date) -> [Withheld] {
    Self.domains(of: url.host).flatMap { domain in
      (byDomain[domain] ?? []).map(\.cookie).filter { !$0.isExpired(now) }.compactMap { cookie in
        if cookie.isHostOnly, domain.utf8.count != url.host.utf8.count { return (cookie.name, .hostOnly(domain)) }
        if !cookie.isVisible(in: partition) { return (cookie.name, .partition) }
        return cookie.withholding(from: url, relation).map { (cookie.name, $0) }
      }
    }
  }

  typealias Withheld = (name: String, reason: Explanation.CookieWithholding)

  /// The host and its parent domains.
  private static func domains(of host: String) -> [String] {
    guard !Cookie.isAddress(host) else { return [host] }
    var domains = [host]
    var rest = host[...]
    while let dot = rest.utf8.firstIndex(of: UInt8(ascii: ".")) {
      rest = rest[rest.utf8.index(after: dot)...]
      if !rest.isEmpty { domains.append(String(rest)) }
    }
    return domains
  }

  // MARK: Changing

  /// Stores or removes the cookie that a response sets, or returns why it was refused.
  ///
  /// Without a partition, the cookie counts as one of the program.
  @discardableResult
  mutating func receive(
    _ line: SetCookie, from url: AbsoluteURL, in partition: String? = nil, now: Date
  ) -> Explanation.Reason? {
    do throws(Explanation.Reason) {
      var cookie = try Cookie(line, from: url, now: now)
      cookie.partition = partition
      if !url.isSecure && hidesSecureCookie(cookie) {
        return .init("overwritesSecure", "it would replace a secure cookie, but was not received over https")
      }
      put(cookie, now: now)
      return nil
    } catch {
      return error
    }
  }

  /// Stores a checked cookie; an expired one removes its predecessor.
  mutating func put(_ cookie: Cookie, now: Date) {
    store(cookie, now: now)
    evict(now: now)
  }

  /// Stores checked cookies, such as those of a file, in order.
  ///
  /// The total limit applies at the end, because finding the oldest of all cookies for each one would take seconds.
  mutating func put(_ cookies: [Cookie], now: Date) {
    for cookie in cookies { store(cookie, now: now) }
    evict(now: now)
  }

  private mutating func store(_ cookie: Cookie, now: Date) {
    guard !cookie.isExpired(now) else {
      remove(cookie.key)
      if journal != .off { record(Change(key: cookie.key, cookie: nil)) }
      return
    }
    var cookie = cookie
    let places = places(of: cookie.key)
    if let old = places.first, let predecessor = byDomain[cookie.domain]?[old].cookie {
      // The cookie keeps its predecessor's position in the sending order.
      cookie.created = predecessor.created
      byDomain[cookie.domain]?[old].cookie = cookie
      record(cookie, replacing: predecessor)
      for place in places.dropFirst().reversed() { remove(at: place, of: cookie.domain) }
    } else {
      byDomain[cookie.domain, default: []].append((cookie, nextNumber))
      nextNumber += 1
      count += 1
      record(cookie, replacing: nil)
      evict(from: cookie.domain, cookie.partition, now: now)
    }
  }

  /// Removes the cookies that one with this key would replace; returns whether there were any.
  @discardableResult
  @inline(never) mutating func remove(_ key: Cookie.Key) -> Bool {
    let places = places(of: key)
    for place in places.reversed() { remove(at: place, of: key.domain) }
    return !places.isEmpty
  }

  /// The indices of the cookies in the domain that one with this key would replace.
  private func places(of key: Cookie.Key) -> [Int] {
    guard let entries = byDomain[key.domain] else { return [] }
    return entries.indices.filter { entries[$0].cookie.key.excludes(key) }
  }

  mutating func removeAll(where matches: (Cookie) -> Bool) {
    for (cookie, _) in byDomain.values.flatMap({ $0 }) where matches(cookie) { remove(cookie.key) }
  }

  mutating func apply(_ change: Change, now: Date) {
    if let cookie = change.cookie { put(cookie, now: now) } else { remove(change.key) }
  }

  var hasChanges: Bool { !noted.isEmpty }

  /// Returns the recorded changes in order, and clears them.
  mutating func takeChanges() -> [Change] {
    defer { noted = [:] }
    return noted.values.ordered { $0.place < $1.place }.map(\.change)
  }

  /// Records changes again that could not be saved; later changes take precedence.
  mutating func restore(_ earlier: [Change]) {
    let later = takeChanges()
    for change in earlier + later { record(change) }
    // Bounds the memory if the file can never be written.
    if noted.count > 2 * Self.maximumCount { noted = noted.filter { $0.value.change.cookie != nil } }
  }

  /// Merges the cookies of the storage; unsaved changes take precedence.
  mutating func adopt(_ stored: [Cookie], now: Date) {
    let own = noted
    let keys = Set(stored.map(\.key))
    let journal = journal
    removeAll { journal.keeps($0) && !keys.contains($0.key) && own[$0.key] == nil }
    let changed = Set(own.keys.map(\.anywhere))
    for cookie in stored where !changed.contains(cookie.key.anywhere) {
      var cookie = cookie
      if let known = byDomain[cookie.domain]?.first(where: { $0.cookie.key == cookie.key }) {
        cookie.lastAccess = max(cookie.lastAccess, known.cookie.lastAccess)
      }
      store(cookie, now: now)
    }
    evict(now: now)
    noted = own
  }

  private mutating func remove(at index: Int, of domain: String) {
    guard let removed = byDomain[domain]?.remove(at: index).cookie else { return }
    if byDomain[domain]?.isEmpty == true { byDomain[domain] = nil }
    count -= 1
    if journal.keeps(removed) { record(Change(key: removed.key, cookie: nil)) }
  }

  private mutating func record(_ cookie: Cookie, replacing predecessor: Cookie?) {
    if journal.keeps(cookie) {
      record(Change(key: cookie.key, cookie: cookie))
    } else if let predecessor, journal.keeps(predecessor) {
      record(Change(key: cookie.key, cookie: nil))
    }
  }

  private mutating func record(_ change: Change) {
    noted[change.key] = (nextPlace, change)
    nextPlace += 1
  }

  /// Whether a cookie over http would replace or shadow a secure one (RFC 6265bis §5.7, 16).
  private func hidesSecureCookie(_ cookie: Cookie) -> Bool {
    byDomain.contains { domain, entries in
      guard Cookie.domainMatches(domain, cookie.domain) || Cookie.domainMatches(cookie.domain, domain) else {
        return false
      }
      return entries.contains { known, _ in
        known.isSecure && known.isVisible(in: cookie.partition) && known.name == cookie.name
          && Cookie.pathMatches(cookie.path, known.path)
      }
    }
  }

  // MARK: Limits

  /// Enforces the limit of a domain (RFC 6265bis §5.7).
  ///
  /// Evicts expired cookies first. Then follow those without `Secure`, and then the least recently used.
  private mutating func evict(from domain: String, _ partition: String?, now: Date) {
    if byDomain[domain]?.count ?? 0 > Self.maximumPerDomain {
      removeExpired(from: domain, now)
      while let entries = byDomain[domain] {
        let own = entries.indices.filter { entries[$0].cookie.partition == partition }
        guard own.count > Self.maximumPerDomain else { break }
        let clear = own.filter { !entries[$0].cookie.isSecure }
        let candidates = clear.isEmpty ? own : clear
        let oldest = candidates.min { entries[$0].cookie.lastAccess < entries[$1].cookie.lastAccess }
        guard let oldest else { break }
        remove(at: oldest, of: domain)
      }
    }
  }

  /// Enforces the limit of all cookies: evicts expired ones, and then the least recently used.
  private mutating func evict(now: Date) {
    guard count > Self.maximumCount else { return }
    for domain in Array(byDomain.keys) { removeExpired(from: domain, now) }
    let excess = count - Self.maximumCount
    guard excess > 0 else { return }
    let all = byDomain.values.joined()
    let oldest =
      excess == 1
      ? all.min { ($0.cookie.lastAccess, $0.number) < ($1.cookie.lastAccess, $1.number) }.map { [$0.cookie] } ?? []
      : sorted(by: \.lastAccess)
    for cookie in oldest.prefix(excess) { remove(cookie.key) }
  }

  private mutating func removeExpired(from domain: String, _ now: Date) {
    for (cookie, _) in byDomain[domain] ?? [] where cookie.isExpired(now) { remove(cookie.key) }
  }
}
