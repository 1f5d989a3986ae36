#if os(Linux)
  import CMartletShim

  /// One event loop on a thread of its own.
  ///
  /// ```
  ///   CurlLoader ─▶ CurlEngine ─▶ CurlMailbox ◀─ CurlTransfer (caller's side)
  ///                                   │ operations, and a wake if the loop sleeps
  ///                                   ▼
  ///                 thread: CurlLoop ─▶ libcurl ─▶ CurlTransfer (loop's side)
  /// ```
  ///
  /// Nothing of libcurl is touched on another thread. The thread ends when the engine is released and the last transfer
  /// is over.
  final class CurlEngine: Sendable {
    let mailbox: CurlMailbox

    /// Starts the thread; `nil` if the system refuses it.
    init?(_ settings: TransportSettings) {
      let wake = martlet_wake_new()
      guard wake >= 0 else { return nil }
      mailbox = CurlMailbox(wake: wake, settings: settings)
      let context = Unmanaged.passRetained(mailbox)
      let isStarted = martlet_thread_start(
        "martlet-curl",
        { context in
          guard let context else { return }
          let mailbox = Unmanaged<CurlMailbox>.fromOpaque(context).takeRetainedValue()
          CurlLoop.run(mailbox)
        }, context.toOpaque())
      guard isStarted else {
        context.release()
        return nil
      }
    }

    deinit { mailbox.post(.close) }
  }

  /// The way into the loop: what it is to do, in order.
  final class CurlMailbox: Sendable {
    enum Operation: Sendable {
      case start(CurlTransfer)
      /// Take the transfer off its connection, which ends that.
      case cancel(CurlTransfer)
      /// The reader of the transfer has made room.
      case drained(CurlTransfer)
      /// There are bytes of a request body for which the transfer has waited.
      case fed(CurlTransfer)
      /// No transfer will be started any more.
      case close
    }

    private struct State {
      var operations: [Operation] = []
      var isAsleep = false
      var isClosed = false
    }

    let wake: CInt
    let settings: TransportSettings
    private let state = Locked(State())

    init(wake: CInt, settings: TransportSettings) {
      self.wake = wake
      self.settings = settings
    }

    deinit { martlet_close(wake) }

    /// Adds an operation, and wakes the loop only if it sleeps.
    ///
    /// - Returns: Whether there is a loop.
    @discardableResult
    func post(_ operation: Operation) -> Bool {
      let (wasAsleep, isOpen) = state.withLock { state in
        guard !state.isClosed else { return (false, false) }
        defer { state.isAsleep = false }
        state.operations.append(operation)
        return (state.isAsleep, true)
      }
      if wasAsleep { martlet_wake(wake) }
      return isOpen
    }

    /// The loop has ended: takes what it will not do.
    func close() -> [Operation] {
      state.withLock { state in
        state.isClosed = true
        defer { state.operations = [] }
        return state.operations
      }
    }

    /// Takes all operations; if there are none, the loop is taken to sleep from now on.
    func takeOrSleep() -> [Operation] {
      state.withLock { state in
        guard !state.operations.isEmpty else {
          state.isAsleep = true
          return []
        }
        defer { state.operations = [] }
        return state.operations
      }
    }

    func awoke() { state.withLock { $0.isAsleep = false } }
  }
#endif
