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
  /// have without this function. A second `SIGTERM` ends it at once. Several clients are drained at the same time. This
  /// function replaces an existing handler of the signal: a program with its own handler calls ``drain(timeout:)``
  /// there instead. Child processes ignore `SIGTERM` unless they set it otherwise.
  ///
  /// - Parameter timeout: The maximum time to wait, after which running requests are cancelled; 10 s by default. The
  ///   sender of the signal may wait less: a service manager kills the process after some time.
  public nonisolated func drainOnTermination(timeout: Duration = .seconds(10)) {
    TerminationDrain.add(core, timeout)
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
  }

  private static let state = Locked(State())

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
      defer { state.clients = [] }
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
      kill(getpid(), SIGTERM)
      // The signal does not end the first process of a container.
      usleep(200_000)
      _exit(128 + SIGTERM)
    }
  }
}
