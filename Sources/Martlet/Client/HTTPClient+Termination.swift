import MartletBase
import Dispatch

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

extension HTTPClient {
  /// Drains the client on `SIGTERM`, before the process ends.
  ///
  /// Running requests, including managed ones, finish as with ``drain(timeout:)``; then the process ends as it would
  /// have without this function. Code that awaits the last responses runs for up to 0.25 s before that: a program with
  /// more to do uses ``waitForTermination(timeout:)``. A second `SIGTERM` ends the process at once. Several clients are
  /// drained at the same time. This function replaces an existing handler of the signal: a program with its own handler
  /// calls ``drain(timeout:)`` there instead. Child processes ignore `SIGTERM` unless they set it otherwise.
  ///
  /// - Parameter timeout: The maximum time to wait, after which running requests are cancelled; 10 s by default. The
  ///   sender of the signal may wait less: a service manager kills the process after some time.
  public nonisolated func drainOnTermination(timeout: Duration = .seconds(10)) {
    TerminationDrain.add(core, timeout)
  }

  /// Waits for `SIGTERM` and drains the client, so that the program can end itself.
  ///
  /// Running requests finish as with ``drain(timeout:)``, and later ones throw ``HTTPError/Kind/clientClosed``. The
  /// process does not end until the program does: its tasks handle the last responses, and its main function returns.
  ///
  /// ```swift
  /// let work = Task { await poll(client) }
  /// await client.waitForTermination(timeout: .seconds(20))
  /// await work.value
  /// ```
  ///
  /// Clients with ``drainOnTermination(timeout:)`` are drained as well. The wait replaces an existing handler of the
  /// signal, and a second `SIGTERM` ends the process at once. If the waiting task is cancelled, the wait ends, and the
  /// client is not drained.
  ///
  /// - Parameter timeout: The maximum time to drain, after which running requests are cancelled; 10 s by default.
  public nonisolated func waitForTermination(timeout: Duration = .seconds(10)) async {
    await TerminationDrain.wait(core, timeout)
  }
}

/// Drains clients on `SIGTERM`.
enum TerminationDrain {
  private struct Client: Sendable {
    weak var core: ClientCore?
    let timeout: Duration
  }

  private struct State {
    var clients: [Client] = []
    var source: (any DispatchSourceSignal)?
    /// The number of callers that wait, and end the process themselves.
    var waiters = 0
    var isEnding = false
  }

  /// How long code that awaits the last responses may run.
  private static let rest = Duration.milliseconds(250)

  private static let state = Locked(State())
  private static let drained = SharedResult<Void>()

  static func wait(_ core: ClientCore, _ timeout: Duration) async {
    add(core, timeout)
    let isLate = state.withLock { state in
      state.waiters += 1
      return state.isEnding
    }
    if isLate { await core.drain(timeout) }
    let isCancelled = (try? await drained.value()) == nil
    state.withLock { state in
      state.waiters -= 1
      if isCancelled { state.clients.removeAll { $0.core === core } }
    }
  }

  static func add(_ core: ClientCore, _ timeout: Duration) {
    state.withLock { state in
      state.clients.removeAll { $0.core == nil || $0.core === core }
      state.clients.append(Client(core: core, timeout: timeout))
      guard state.source == nil else { return }
      // Otherwise the signal would end the process before the source receives it.
      signal(SIGTERM, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global(qos: .userInitiated))
      source.setEventHandler { end() }
      source.resume()
      state.source = source
    }
  }

  private static func end() {
    let clients = state.withLock { state in
      defer { (state.clients, state.isEnding) = ([], true) }
      return state.clients
    }
    // A second signal ends the process immediately.
    signal(SIGTERM, SIG_DFL)
    Task {
      await withDiscardingTaskGroup { group in
        for client in clients {
          guard let core = client.core else { continue }
          group.addTask { await core.drain(client.timeout) }
        }
      }
      guard state.withLock({ $0.waiters == 0 }) else { return drained.resolve(.success(())) }
      try? await Timeline(ContinuousClock()).pause(rest)
      kill(getpid(), SIGTERM)
      // The signal does not end the first process of a container.
      usleep(200_000)
      _exit(128 + SIGTERM)
    }
  }
}
