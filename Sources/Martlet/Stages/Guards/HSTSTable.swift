/// The hosts that want https only, and what of that is not in the file yet (RFC 6797 §5.3, §8).
///
/// A value without clock, lock or file. Times are whole seconds since 1970.
struct HSTSTable: Sendable {
  /// The most hosts; then the ones that have ended go, or the one that was heard of longest ago.
  static let maximumHosts = 1_000

  struct Entry: Sendable, Hashable {
    var expires: Int64
    var includesSubdomains: Bool
  }

  private struct Known: Sendable {
    var entry: Entry
    /// The time that the file has, so that it is not written for each response.
    var written: Int64?
    /// Counts up with what is heard.
    var heard: UInt64
  }

  private var hosts: [String: Known] = [:]
  private var count: UInt64 = 0
  /// What has changed for which host; `nil` for one that is forgotten.
  private(set) var changes: [String: Entry?] = [:]

  /// A host's name as it is looked for; `nil` for an address, which is never known (RFC 6797 §8.1.1).
  static func name(_ host: String) -> String? {
    IPAddress(host) == nil ? URLHost.withoutRoot(host) : nil
  }

  var isEmpty: Bool { hosts.isEmpty }
  var entries: [String: Entry] { hosts.mapValues(\.entry) }

  /// Whether a host, or one above it for all below, wants https (RFC 6797 §8.2).
  func covers(_ name: String, now: Int64) -> Bool {
    var rest = name[...]
    var isExact = true
    while true {
      if let entry = hosts[String(rest)]?.entry, entry.expires > now, isExact || entry.includesSubdomains {
        return true
      }
      guard let dot = rest.firstIndex(of: ".") else { return false }
      rest = rest[rest.index(after: dot)...]
      isExact = false
    }
  }

  /// Takes in what a host says of itself (RFC 6797 §8.1).
  mutating func hear(_ policy: StrictTransportSecurity, from name: String, now: Int64) {
    guard policy.maxAge > 0 else {
      if hosts.removeValue(forKey: name) != nil { changes[name] = .some(nil) }
      return
    }
    let (sum, isLate) = now.addingReportingOverflow(policy.maxAge)
    let entry = Entry(expires: isLate ? .max : sum, includesSubdomains: policy.includesSubdomains)
    let old = hosts[name]
    put(entry, name, now: now)
    // A host says it with each response: only what moves its end by a twentieth of its time is worth a file.
    if let old, let written = old.written, old.entry.includesSubdomains == entry.includesSubdomains,
      entry.expires >= written, entry.expires - written <= policy.maxAge / 20
    {
      hosts[name]?.written = written
    } else {
      hosts[name]?.written = entry.expires
      changes[name] = entry
    }
  }

  private mutating func put(_ entry: Entry, _ name: String, now: Int64) {
    count += 1
    if hosts[name] == nil && hosts.count >= Self.maximumHosts { evict(now: now) }
    hosts[name] = Known(entry: entry, written: nil, heard: count)
  }

  private mutating func evict(now: Int64) {
    let ended = hosts.filter { $0.value.entry.expires <= now }.map(\.key)
    for name in ended { hosts[name] = nil }
    // Of those that only the file knows, the one that ends first was heard of longest ago, as far as can be told.
    let oldest = hosts.min {
      ($0.value.heard, $0.value.entry.expires) < ($1.value.heard, $1.value.entry.expires)
    }
    if ended.isEmpty, let oldest { hosts[oldest.key] = nil }
  }

  // MARK: The file

  mutating func takeChanges() -> [String: Entry?] {
    defer { changes = [:] }
    return changes
  }

  /// Puts back what could not be saved, unless there is something newer.
  mutating func restore(_ unsaved: [String: Entry?]) {
    changes.merge(unsaved) { newer, _ in newer }
    // A file that can never be written must not cost more than the table.
    if changes.count > Self.maximumHosts { changes = changes.filter { hosts[$0.key] != nil } }
  }

  /// Puts changes on top of what is there.
  mutating func apply(_ changes: [String: Entry?], now: Int64) {
    for (name, entry) in changes.sorted(by: { $0.key < $1.key }) {
      if let entry { put(entry, name, now: now) } else { hosts[name] = nil }
    }
  }

  /// Takes over what the file has, but for what is not saved yet.
  mutating func adopt(_ stored: [String: Entry], now: Int64) {
    let heard = hosts.mapValues(\.heard)
    let own = hosts.filter { changes.keys.contains($0.key) }
    hosts = own
    for (name, entry) in stored where !changes.keys.contains(name) && entry.expires > now {
      guard hosts.count < Self.maximumHosts else { break }
      hosts[name] = Known(entry: entry, written: entry.expires, heard: heard[name] ?? 0)
    }
  }
}
