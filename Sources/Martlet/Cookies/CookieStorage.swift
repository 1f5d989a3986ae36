import MartletBase
import Synchronization

/// The state of a jar: its cookies behind one lock, and their file.
///
/// A class with a lock instead of an actor, so a request need not await it.
final class CookieStorage: Sendable {
  enum Keeping: Sendable {
    case nowhere
    case memory
    case file(CookieFile)
    case system
  }

  let keeping: Keeping
  let now: @Sendable () -> Date
  private let table: Locked<CookieTable>
  /// Whether there are cookies; an empty jar needs no lock.
  ///
  /// The order is relaxed: a request that misses a change counts as sent before it.
  private let isFilled = Atomic(false)
  private let problem = Locked<HTTPError?>(nil)

  init(_ keeping: Keeping, _ now: @escaping @Sendable () -> Date) {
    self.keeping = keeping
    self.now = now
    switch keeping {
    case .nowhere, .memory, .system: table = Locked(CookieTable())
    case .file(let file):
      var table = CookieTable(journal: file.journal)
      do {
        table.put(try file.read(), now: now())
      } catch {
        problem.withLock { $0 = error }
      }
      _ = table.takeChanges()
      isFilled.store(table.count > 0, ordering: .relaxed)
      self.table = Locked(table)
    }
  }

  /// Whether there are certainly no cookies to send.
  var isEmpty: Bool {
    if case .system = keeping { return false }
    return !isFilled.load(ordering: .relaxed)
  }

  var keepsNothing: Bool { if case .nowhere = keeping { true } else { false } }

  /// The last error from reading or writing the file; `nil` after a success.
  var lastProblem: HTTPError? { problem.withLock { $0 } }

  /// Runs a closure with the cookies, under the lock.
  ///
  /// With `.system`, the cookies are read and written back without a lock.
  func withTable<Result: Sendable>(_ body: @Sendable (inout CookieTable) -> Result) -> Result {
    #if canImport(Darwin)
      if case .system = keeping { return SystemCookies.withTable(now(), body) }
    #endif
    if keepsNothing {
      var nothing = CookieTable()
      return body(&nothing)
    }
    return table.withLock {
      let result = body(&$0)
      isFilled.store($0.count > 0, ordering: .relaxed)
      return result
    }
  }

  /// The cookies of a request, in order.
  func cookies(for url: AbsoluteURL, _ relation: SiteRelation, in partition: String, now: Date) -> [Cookie] {
    isEmpty ? [] : withTable { $0.select(for: url, relation, in: partition, now: now) }
  }

  // MARK: The file

  /// Saves changes to the file, and loads those of other processes.
  ///
  /// Without changes to save, does so only with `isAsked`, for ``CookieJar/save()``.
  func save(isAsked: Bool) async throws {
    guard case .file(let file) = keeping else { return }
    do {
      try await file.synchronise(self, isAsked: isAsked)
      problem.withLock { $0 = nil }
    } catch {
      problem.withLock { $0 = error as? HTTPError }
      throw error
    }
  }
}
