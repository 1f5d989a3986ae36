package import Martlet
import MartletBase

extension HTTPClient {
  /// Waits until something holds that only changes with what the client does.
  ///
  /// It is asked again when a call begins, changes its state or ends, when a callback has run, and when bytes move. The
  /// wait ends early when the task is cancelled.
  package nonisolated func wait(until isTrue: () async -> Bool) async { await core.wait(until: isTrue) }

  /// Waits until the client has no calls, callbacks or limits left.
  package nonisolated func waitUntilEmpty() async { await core.waitUntilEmpty() }
}

extension ClientCore {
  /// Waits until something holds that only changes with what the client does.
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

/// Suspends until the task is cancelled: a server that never answers.
///
/// - Throws: `CancellationError`, always.
package func untilCancelled() async throws -> Never {
  await Shared(false).wait { $0 }
  throw CancellationError()
}

/// Gives way to the other tasks many times, for a test that expects nothing to happen.
package func letOthersRun() async { for _ in 0..<100 { await Task.yield() } }

/// How long a test waits for something to happen, against hanging only.
package let hangPatience = Duration.seconds(isSanitized ? 600 : 55)

/// Asks again and again whether something holds that tells nobody of its change, such as what the system knows.
///
/// For tests over sockets only.
///
/// - Parameters:
///   - limit: When to give up, against hanging only.
///   - pause: The time between two questions.
///   - isTrue: Whether it holds.
/// - Returns: Whether it became true.
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
