import MartletBase
import Foundation
import Synchronization

/// What a client knows of hosts that want https: the table behind one lock, and the file that it is kept in.
///
/// A class with a lock, not an actor: a request asks it without waiting.
final class HSTSHosts: Sendable {
  private let table: Locked<HSTSTable>
  /// So that knowing none costs no lock.
  private let isFilled: Atomic<Bool>
  private let file: HSTSFile?
  /// How often saving has failed.
  private let failures = Atomic(0)
  /// Why the file could not be read: then nobody knows which hosts it names.
  let problem: HTTPError?

  init(_ store: RequestGuard.HSTSStore, now: Date) {
    var table = HSTSTable()
    var problem: HTTPError?
    switch store.kind {
    case .memory: file = nil
    case .file(let url):
      let file = HSTSFile(url)
      do throws(HTTPError) {
        table.adopt(try file.read(), now: Self.seconds(now))
      } catch {
        problem = error
      }
      self.file = file
    }
    self.problem = problem
    isFilled = Atomic(!table.isEmpty)
    self.table = Locked(table)
  }

  /// Whether requests to a host, as it stands in a parsed URL, have to go over https.
  func covers(_ host: String, now: Date) -> Bool {
    guard isFilled.load(ordering: .relaxed), let name = HSTSTable.name(host) else { return false }
    return table.withLock { $0.covers(name, now: Self.seconds(now)) }
  }

  /// Takes in the field of a response that came over a connection which can be trusted.
  ///
  /// Tells whether there is something to save. `value` is that of the first field; others do not count (RFC 6797 §8.1).
  func hear(_ value: String, from url: AbsoluteURL, now: Date) -> Bool {
    guard url.isSecure, let name = HSTSTable.name(url.host), let policy = StrictTransportSecurity(value) else {
      return false
    }
    let hasChanges = table.withLock { table in
      table.hear(policy, from: name, now: Self.seconds(now))
      isFilled.store(!table.isEmpty, ordering: .relaxed)
      return !table.changes.isEmpty
    }
    return hasChanges && file != nil && problem == nil
  }

  /// Saves what has changed, and takes over what others have saved; what fails is tried again with the next change.
  func save(now: Date) async {
    guard let file else { return }
    let seen = failures.load(ordering: .relaxed)
    // From taking to adopting it is one step: what another save has taken would be taken for forgotten.
    await file.inTurn { [self] in
      // Who has waited behind a failure shares it, instead of waiting for one of its own.
      guard failures.load(ordering: .relaxed) == seen else { return }
      let changes = table.withLock { $0.takeChanges() }
      guard !changes.isEmpty else { return }
      do throws(HTTPError) {
        let stored = try file.merge(changes, now: Self.seconds(now))
        table.withLock { table in
          table.adopt(stored, now: Self.seconds(now))
          isFilled.store(!table.isEmpty, ordering: .relaxed)
        }
      } catch {
        failures.add(1, ordering: .relaxed)
        table.withLock { $0.restore(changes) }
      }
    }
  }

  private static func seconds(_ date: Date) -> Int64 {
    Int64(exactly: date.timeIntervalSince1970.rounded(.down)) ?? .max
  }
}
