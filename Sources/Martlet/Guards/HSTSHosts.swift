import MartletBase
import Synchronization

/// The HSTS hosts of a client: a table behind one lock, and its file.
///
/// A class with a lock instead of an actor, so a request need not await it.
final class HSTSHosts: Sendable {
  private let table: Locked<HSTSTable>
  /// Avoids the lock while there are no hosts.
  private let isFilled: Atomic<Bool>
  /// The path of the file.
  private let path: String?
  /// File access blocks, so it must not run on the cooperative thread pool.
  private let saves = SaveQueue(label: "Martlet.HSTSHosts")
  /// The error from reading the file, whose hosts are then unknown.
  let problem: HTTPError?

  init(_ store: RequestGuard.HSTSStore, now: Date) {
    var table = HSTSTable()
    var problem: HTTPError?
    path = store.url?.path(percentEncoded: false)
    do throws(HTTPError) {
      if let path { table.adopt(try HSTSFile.read(path), now: Self.seconds(now)) }
    } catch {
      problem = error
    }
    self.problem = problem
    isFilled = Atomic(!table.isEmpty)
    self.table = Locked(table)
  }

  /// Whether requests to a host, as in a parsed URL, must use https.
  func covers(_ host: String, now: Date) -> Bool {
    guard isFilled.load(ordering: .relaxed), let name = HSTSTable.name(host) else { return false }
    return table.withLock { $0.covers(name, now: Self.seconds(now)) }
  }

  /// Records the field of a response from a trusted connection.
  ///
  /// Returns whether there are changes to save. `value` is that of the first field; others are ignored (RFC 6797 §8.1).
  func receive(_ value: String, from url: AbsoluteURL, now: Date) -> Bool {
    guard url.isSecure, let name = HSTSTable.name(url.host), let policy = StrictTransportSecurity(value) else {
      return false
    }
    let hasChanges = table.withLock { table in
      table.receive(policy, from: name, now: Self.seconds(now))
      isFilled.store(!table.isEmpty, ordering: .relaxed)
      return !table.changes.isEmpty
    }
    return hasChanges && path != nil && problem == nil
  }

  /// Saves changes and loads those of other processes; after a failure, the next change tries again.
  func save(now: Date) async {
    guard let path else { return }
    let now = Self.seconds(now)
    // Otherwise, hosts that another save has taken would be removed.
    try? await saves.save { [self] () throws(HTTPError) in
      let changes = table.withLock { $0.takeChanges() }
      guard !changes.isEmpty else { return }
      do throws(HTTPError) {
        let lock = try FileLock(path + ".lock")
        defer { lock.release() }
        var stored = HSTSTable()
        stored.adopt(try HSTSFile.read(path), now: now)
        stored.apply(changes, now: now)
        let entries = stored.entries
        try PrivateFile.replace(path, with: HSTSFile.text(entries))
        table.withLock { table in
          table.adopt(entries, now: now)
          isFilled.store(!table.isEmpty, ordering: .relaxed)
        }
      } catch {
        table.withLock { $0.restore(changes) }
        throw error
      }
    }
  }

  private static func seconds(_ date: Date) -> Int64 {
    Int64(exactly: date.timeIntervalSince1970.rounded(.down)) ?? .max
  }
}
