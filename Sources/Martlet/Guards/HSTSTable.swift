import MartletBase

/// The HSTS hosts, and their unsaved changes (RFC 6797 §5.3, §8).
///
/// A value without a clock, a lock or a file. Times are whole seconds since 1970.
struct HSTSTable: Sendable {
  /// Beyond it, expired hosts are evicted, or otherwise the least recently updated one.
  static let maximumHosts = 1_000

  struct Entry: Sendable, Hashable {
    var expires: Int64
    var includesSubdomains: Bool
  }

  private struct Known: Sendable {
    var entry: Entry
    /// The expiration in the file; it avoids a write for each response.
    var written: Int64?
    /// The sequence number of the last update.
    var heard: UInt64
  }

  private var hosts: [String: Known] = [:]
  private var count: UInt64 = 0
  /// The unsaved changes by host; `nil` for a removed host.
  private(set) var changes: [String: Entry?] = [:]

  /// The normalized name of a host.
  ///
  /// `nil` for an IP address, which HSTS excludes (RFC 6797 §8.1.1).
  static func name(_ host: String) -> String? {
    IPAddress(host) == nil ? URLHost.withoutRoot(host) : nil
  }

  var isEmpty: Bool { hosts.isEmpty }
  var entries: [String: Entry] { hosts.mapValues(\.entry) }

  /// Whether HSTS applies to a host (RFC 6797 §8.2).
  ///
  /// It does by the entry of the host, or by that of a parent domain that includes subdomains.
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

  /// Records the policy that a host has sent (RFC 6797 §8.1).
  mutating func receive(_ policy: StrictTransportSecurity, from name: String, now: Int64) {
    guard policy.maxAge > 0 else {
      if hosts.removeValue(forKey: name) != nil { changes[name] = .some(nil) }
      return
    }
    let (sum, isLate) = now.addingReportingOverflow(policy.maxAge)
    let entry = Entry(expires: isLate ? .max : sum, includesSubdomains: policy.includesSubdomains)
    let old = hosts[name]
    put(entry, name, now: now)
    // Hosts send the field with each response. Write only a new host, a change of `includesSubdomains`, an earlier
    // expiration, or one that is later by more than a twentieth of the lifetime.
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
    // Hosts that were only read from the file have no update order; the first to expire counts as the oldest.
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

  /// Records changes again that could not be saved; newer changes take precedence.
  mutating func restore(_ unsaved: [String: Entry?]) {
    changes.merge(unsaved) { newer, _ in newer }
    // Bounds the memory if the file can never be written.
    if changes.count > Self.maximumHosts { changes = changes.filter { hosts[$0.key] != nil } }
  }

  mutating func apply(_ changes: [String: Entry?], now: Int64) {
    for (name, entry) in changes.ordered(by: { $0.key < $1.key }) {
      if let entry { put(entry, name, now: now) } else { hosts[name] = nil }
    }
  }

  /// Merges the hosts of the file; unsaved changes take precedence.
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
