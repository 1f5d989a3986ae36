package import Martlet
import MartletBase

extension HTTPClient {
  /// Waits until a condition holds that only changes with the client's activity.
  ///
  /// The condition is checked again when a call begins, changes its state or ends, when a callback has run, and when
  /// bytes are transferred. The wait ends early when the task is cancelled.
  package nonisolated func wait(until isTrue: () async -> Bool) async { await core.wait(until: isTrue) }

  /// Waits until the client has no calls, callbacks or limits left.
  package nonisolated func waitUntilEmpty() async { await core.waitUntilEmpty() }
}

extension ClientCore {
  /// Waits until a condition holds that only changes with the client's activity.
  package func wait(until isTrue: () async -> Bool) async {
    changes.addWatcher()
    defer { changes.removeWatcher() }
    while !Task.isCancelled {
      let version = changes.version
      if await isTrue() { return }
      await changes.wait(after: version)
    }
  }

  /// Waits until there are no calls, callbacks or limits left.
  package func waitUntilEmpty() async { await wait { entryCount == 0 } }
}

/// Suspends until the task is cancelled, like a server that never responds.
///
/// - Throws: `CancellationError`, always.
package func untilCancelled() async throws -> Never {
  await Shared(false).wait { $0 }
  throw CancellationError()
}

/// Yields to the other tasks many times, for a test that expects nothing to happen.
package func letOthersRun() async { for _ in 0..<100 { await Task.yield() } }

/// The maximum time that a test waits for an event, only to guard against hanging.
package let hangPatience = Duration.seconds(isSanitized ? 600 : 55)

/// Polls a condition whose changes are not signaled, such as the state of the system.
///
/// For tests over sockets only.
///
/// - Parameters:
///   - limit: The time after which polling ends, only to guard against hanging.
///   - pause: The time between two checks.
///   - isTrue: The condition.
/// - Returns: Whether the condition became true.
package func becomes(
  within limit: Duration = hangPatience, every pause: Duration = .milliseconds(1),
  _ isTrue: () async -> Bool
) async -> Bool {
  let end = ContinuousClock.now + limit
  while await !isTrue() {
    guard ContinuousClock.now < end, !Task.isCancelled else { return await isTrue() }
    try? await Task.sleep(for: pause)
  }
  return true
}
