/// Lets one piece of work through at a time, in the order of arrival.
///
/// Tests that keep a core busy, or that measure time, pass through the shared one: on a machine with two cores they would
/// otherwise starve each other.
package actor Turnstile {
  package static let shared = Turnstile()

  private var isTaken = false
  private var waiters: [CheckedContinuation<Void, Never>] = []

  private func enter() async {
    guard isTaken else {
      isTaken = true
      return
    }
    await withCheckedContinuation { waiters.append($0) }
  }

  private func leave() {
    if waiters.isEmpty { isTaken = false } else { waiters.removeFirst().resume() }
  }

  /// Runs work when its turn has come.
  package nonisolated func pass(_ work: () async throws -> Void) async rethrows {
    await enter()
    do { try await work() } catch {
      await leave()
      throw error
    }
    await leave()
  }
}
