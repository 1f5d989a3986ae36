import MartletBase
import CMartletShim
import Synchronization

/// One event loop on its own thread.
///
/// ```
///   CurlLoader ─▶ CurlEngine ─▶ CurlMailbox ◀─ CurlTransfer (caller's side)
///                                   │ operations, and a wake if the loop sleeps
///                                   ▼
///                 thread: CurlLoop ─▶ libcurl ─▶ CurlTransfer (loop's side)
/// ```
///
/// The thread ends and closes the connections when nothing has been in flight for
/// ``CurlConnectionSettings/idleLifetime``; the next request starts a new one. It ends at once when the engine is
/// released and the last transfer is over.
package final class CurlEngine: Sendable {
  let mailbox: CurlMailbox

  /// Creates an engine without a thread; `nil` if no descriptor is left.
  init?(_ settings: CurlConnectionSettings) {
    let wake = martlet_wake_new()
    guard wake >= 0 else { return nil }
    mailbox = CurlMailbox(wake: wake, settings: settings)
  }

  deinit { mailbox.post(.close) }
}

/// The queue of operations for the loop.
package final class CurlMailbox: Sendable {
  package enum Operation: Sendable {
    case start(CurlTransfer)
    /// Removes the transfer from its connection. This ends an HTTP/1 connection, but only the transfer's stream over
    /// HTTP/2.
    case cancel(CurlTransfer)
    case drained(CurlTransfer)
    /// Bytes of the request body are available for a waiting transfer.
    case fed(CurlTransfer)
    case closeIdle
    /// No more transfers will be started.
    case close
  }

  private struct State: ~Copyable {
    var operations: [Operation] = []
    var isAsleep = false
    var isRunning = false
    /// Whether the engine is released.
    var isClosed = false
  }

  private enum Effect {
    case none, wake, start, refusal
  }

  let wake: CInt
  let settings: CurlConnectionSettings
  let load = EngineLoad()
  let counts = LastCounts()
  private let state = Locked(State())
  private let loop = Locked<CurlLoop?>(nil)
  private let hasNothing = Atomic(true)

  init(wake: CInt, settings: CurlConnectionSettings) {
    self.wake = wake
    self.settings = settings
  }

  deinit { martlet_close(wake) }

  /// Whether the loop last had no transfer with a handle; this may be outdated.
  var isIdle: Bool {
    get { hasNothing.load(ordering: .relaxed) }
    set { hasNothing.store(newValue, ordering: .relaxed) }
  }

  /// Whether a loop has to end with its last transfer.
  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Adds an operation; returns `false` if there is no loop.
  ///
  /// Wakes the loop only if it sleeps. Starts a loop for a transfer.
  @discardableResult
  package func post(_ operation: Operation) -> Bool { carryOut(add(operation)) }

  /// Starts or refuses a transfer, and sends its request on this thread if the loop is idle.
  ///
  /// Waking the loop takes longer than the work itself. If many transfers start at once, one wake is enough for all.
  /// Returns the socket if the response is likely to arrive so soon that this thread should wait for it.
  func start(_ transfer: CurlTransfer) -> CInt? {
    let effect = add(.start(transfer))
    if effect == .wake, CurlLibrary.worksOnAnyThread, isIdle {
      // A loop whose lock is taken is busy, and handles the transfer itself.
      switch withLoopIfAvailable({ $0?.drive(for: transfer) }) {
      case .done?: return nil
      case .answerIsNear(let socket)?: return socket
      case .threadIsNeeded?, nil: break
      }
    }
    if !carryOut(effect) { transfer.refuse() }
    return nil
  }

  /// Sends written bytes of an upgraded connection, on this thread if the loop sleeps.
  func write(for transfer: CurlTransfer) {
    if CurlLibrary.worksOnAnyThread, state.withLock({ $0.isAsleep }) {
      switch withLoopIfAvailable({ $0?.writeInline(transfer) }) {
      case .done?, .answerIsNear?: return
      case .threadIsNeeded?:
        martlet_wake(wake)
        return
      case nil: break
      }
    }
    post(.fed(transfer))
  }

  /// Receives bytes of an upgraded connection on this thread, if they are likely to arrive soon.
  ///
  /// Returns whether it waited.
  func receive(for transfer: CurlTransfer) -> Bool {
    guard CurlLibrary.worksOnAnyThread, state.withLock({ $0.isAsleep }),
      case .answerIsNear(let socket)? = withLoopIfAvailable({ $0?.beginReceiving(transfer) })
    else { return false }
    awaitAnswer(to: transfer, on: socket)
    return true
  }

  /// Waits on this thread for a response to a request that was sent here, or for bytes of an upgraded connection.
  ///
  /// Ends when they have arrived or take too long; the loop then continues with the transfer.
  func awaitAnswer(to transfer: CurlTransfer, on socket: CInt) {
    let end = martlet_microseconds() + settings.answerPace.patience
    while true {
      let rest = end - martlet_microseconds()
      let events = rest > 0 ? martlet_wait(socket, CInt(clamping: rest)) : 0
      if events < 0 { continue }
      switch withLoopIfAvailable({ $0?.receive(transfer, on: socket, events) }) {
      case .answerIsNear?: continue
      case .done?: return
      case .threadIsNeeded?, nil:
        martlet_wake(wake)
        return
      }
    }
  }

  private func add(_ operation: Operation) -> Effect {
    if case .start = operation, CurlLibrary.isExiting { return .refusal }
    return state.withLock { state in
      if case .close = operation { state.isClosed = true }
      guard state.isRunning else {
        // A loop that has ended had nothing left to do. Only a new transfer needs one.
        guard case .start = operation else { return .refusal }
        state.isRunning = true
        state.operations.append(operation)
        return .start
      }
      defer { state.isAsleep = false }
      state.operations.append(operation)
      return state.isAsleep ? .wake : .none
    }
  }

  private func carryOut(_ effect: Effect) -> Bool {
    switch effect {
    case .none: break
    case .wake: martlet_wake(wake)
    case .start: startThread()
    case .refusal: return false
    }
    return true
  }

  /// Runs a closure with the loop, under its lock; only the loop's own thread may call this.
  ///
  /// Never returns if the process is exiting.
  func withLoop<Result: Sendable>(_ body: (inout sending CurlLoop?) -> sending Result) -> Result {
    loop.withLock { loop in
      // Enters only after locking, so the exit handler never waits for a thread that waits for this lock: a
      // callback may exit while it holds the lock.
      martlet_library_await()
      let previous = CurlLoop.observe(loop)
      defer {
        CurlLoop.observeAgain(previous)
        if loop == nil { martlet_library_end_thread() }
        martlet_library_leave()
      }
      return body(&loop)
    }
  }

  /// Runs a closure on a caller's thread.
  ///
  /// Returns `nil` if there is no loop, if the loop is working, or if the process exits.
  private func withLoopIfAvailable(_ body: (inout sending CurlLoop?) -> sending CurlLoop.InlineDriveResult?) -> CurlLoop
    .InlineDriveResult?
  {
    guard martlet_library_enter() else { return nil }
    defer { martlet_library_leave() }
    return loop.withLockIfAvailable { loop in
      let previous = CurlLoop.observe(loop)
      defer { CurlLoop.observeAgain(previous) }
      return body(&loop)
    } ?? nil
  }

  /// The numbers of connections by origin; `nil` while the loop is busy.
  func countConnectionsNow() -> [Origin: ConnectionCount]? {
    guard isRunning else { return [:] }
    guard martlet_library_enter() else { return [:] }
    defer { martlet_library_leave() }
    return loop.withLockIfAvailable { loop in loop?.countConnections() ?? [:] }
  }

  private func startThread() {
    let context = Unmanaged.passRetained(self)
    let isStarted = martlet_thread_start(
      "martlet-curl",
      { context in
        guard let context else { return }
        let mailbox = Unmanaged<CurlMailbox>.fromOpaque(context).takeRetainedValue()
        CurlLoop.run(mailbox)
      }, context.toOpaque())
    guard isStarted else {
      context.release()
      return refuseAll()
    }
  }

  /// Refuses all transfers, because the loop could not be started.
  func refuseAll() {
    let operations = state.withLock { state in
      state.isRunning = false
      return exchange(&state.operations, with: [])
    }
    for case .start(let transfer) in operations { transfer.refuse() }
  }

  /// Whether there is a loop, for tests.
  package var isRunning: Bool { state.withLock { $0.isRunning } }

  /// Ends the loop unless there are operations; returns whether it has ended.
  ///
  /// After `true`, another loop may already run, and this one must not continue.
  func end() -> Bool {
    state.withLock { state in
      guard state.operations.isEmpty else { return false }
      state.isRunning = false
      state.isAsleep = false
      return true
    }
  }

  /// Accepts all operations; without any, marks the loop as sleeping.
  func takeOrSleep() -> [Operation] {
    state.withLock { state in
      guard !state.operations.isEmpty else {
        state.isAsleep = true
        return []
      }
      return exchange(&state.operations, with: [])
    }
  }

  func awoke() { state.withLock { $0.isAsleep = false } }
}
