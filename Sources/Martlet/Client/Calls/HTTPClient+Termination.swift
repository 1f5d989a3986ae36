import MartletBase
import Dispatch
import Synchronization

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
  /// calls ``drain(timeout:)`` there instead.
  ///
  /// - Parameter timeout: The maximum time to wait, after which running requests are cancelled; 10 s by default. The
  ///   sender of the signal may wait less: a service manager kills the process after some time.
  public nonisolated func drainOnTermination(timeout: Duration = .seconds(10)) {
    TerminationDrain.add(core, timeout)
  }

  /// Waits for `SIGTERM` and drains the client; the program can then end itself.
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
  /// signal, and a second `SIGTERM` ends the process at once. If the waiting task is cancelled, the wait ends, and does
  /// not drain the client; other waits and ``drainOnTermination(timeout:)`` still do. If several drain one client, the
  /// longest timeout counts.
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
    /// The number of the wait that drains the client; `nil` for ``HTTPClient/drainOnTermination(timeout:)``.
    let wait: Int?
  }

  private struct State: ~Copyable {
    var clients: [Client] = []
    /// The registered clients at the time of the signal.
    var draining: [Client] = []
    var source: (any DispatchSourceSignal)?
    /// The number of callers that wait, and end the process themselves.
    var waiters = 0
    var lastWait = 0
    var isEnding = false
  }

  /// How long code that awaits the last responses may run.
  private static let rest = Duration.milliseconds(250)

  private static let state = Locked(State())
  private static let drained = Promise<Void>()
  /// Whether the signal has arrived before its source was registered.
  static let isEarly = Atomic(false)

  static func wait(_ core: ClientCore, _ timeout: Duration) async {
    let id = state.withLock { state in
      state.waiters += 1
      state.lastWait += 1
      return state.lastWait
    }
    if add(core, timeout, wait: id), !Task.isCancelled { await core.drain(timeout) }
    _ = try? await drained.value()
    state.withLock { state in
      state.waiters -= 1
      state.clients.removeAll { $0.wait == id }
    }
  }

  /// Registers a client; returns whether the signal has arrived before, and does not drain the client.
  ///
  /// `beforeSource` runs while the signal is already caught, and its source does not exist yet.
  @discardableResult
  static func add(
    _ core: ClientCore, _ timeout: Duration, wait: Int? = nil, beforeSource: () -> Void = {}
  ) -> Bool {
    state.withLock { state in
      state.clients.removeAll { $0.core == nil || $0.core === core && $0.wait == wait }
      state.clients.append(Client(core: core, timeout: timeout, wait: wait))
      guard state.source == nil else { return state.isEnding && !state.draining.contains { $0.core === core } }
      // The source is registered on another thread, after which libdispatch's handler is in place, or kqueue
      // reports the signal in addition to this handler. Until then, the signal must neither end the process nor be lost.
      isEarly.store(false, ordering: .relaxed)
      signal(SIGTERM) { _ in TerminationDrain.isEarly.store(true, ordering: .relaxed) }
      beforeSource()
      let source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global(qos: .userInitiated))
      source.setEventHandler { end() }
      source.setRegistrationHandler { if isEarly.load(ordering: .relaxed) { end() } }
      source.resume()
      state.source = source
      return false
    }
  }

  private static func end() {
    let clients: [Client]? = state.withLock { state in
      guard !state.isEnding else { return nil }
      defer { (state.clients, state.draining, state.isEnding) = ([], state.clients, true) }
      return state.clients
    }
    guard let clients else { return }
    // A second signal ends the process immediately.
    signal(SIGTERM, SIG_DFL)
    Task {
      await withDiscardingTaskGroup { group in
        let cores = clients.compactMap { client in client.core.map { (ObjectIdentifier($0), ($0, client.timeout)) } }
        // The longest timeout of each client counts.
        for (core, timeout) in Dictionary(cores, uniquingKeysWith: { $0.1 > $1.1 ? $0 : $1 }).values {
          group.addTask { await core.drain(timeout) }
        }
      }
      if state.withLock({ $0.waiters == 0 }) { try? await Timeline(ContinuousClock()).pause(rest) }
      // A wait that began after the signal ends the process as well.
      guard state.withLock({ $0.waiters == 0 }) else { return drained.resolve(.success(())) }
      kill(getpid(), SIGTERM)
      // The signal does not end the first process of a container.
      usleep(200_000)
      _exit(128 + SIGTERM)
    }
  }
}
