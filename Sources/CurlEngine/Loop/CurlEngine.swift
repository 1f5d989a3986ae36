import MartletBase
import CMartletShim
import Synchronization

/// One event loop on a thread of its own.
///
/// ```
///   CurlLoader ─▶ CurlEngine ─▶ CurlMailbox ◀─ CurlTransfer (caller's side)
///                                   │ operations, and a wake if the loop sleeps
///                                   ▼
///                 thread: CurlLoop ─▶ libcurl ─▶ CurlTransfer (loop's side)
/// ```
///
/// The thread ends when nothing has been in flight for ``CurlConnectionSettings/idleLifetime``, and closes the
/// connections; the next request starts another. It ends at once when the engine is released and the last transfer is
/// over.
package final class CurlEngine: Sendable {
  let mailbox: CurlMailbox

  /// Makes an engine without a thread; `nil` if the system refuses a descriptor.
  init?(_ settings: CurlConnectionSettings) {
    let wake = martlet_wake_new()
    guard wake >= 0 else { return nil }
    mailbox = CurlMailbox(wake: wake, settings: settings)
  }

  deinit { mailbox.post(.close) }
}

/// The way into the loop: what it is to do, in order.
package final class CurlMailbox: Sendable {
  package enum Operation: Sendable {
    case start(CurlTransfer)
    /// Take the transfer off its connection, which ends that.
    case cancel(CurlTransfer)
    /// The reader of the transfer has made room.
    case drained(CurlTransfer)
    /// There are bytes of a request body for which the transfer has waited.
    case fed(CurlTransfer)
    case closeIdle
    /// No transfer will be started any more.
    case close
  }

  private struct State {
    var operations: [Operation] = []
    var isAsleep = false
    /// Whether there is a thread that takes the operations.
    var isRunning = false
  }

  private enum Effect {
    case none, wake, start, refusal
  }

  let wake: CInt
  let settings: CurlConnectionSettings
  let load = EngineLoad()
  private let state = Locked(State())
  private let loop = Locked<CurlLoop?>(nil)
  private let hasNothing = Atomic(true)

  init(wake: CInt, settings: CurlConnectionSettings) {
    self.wake = wake
    self.settings = settings
  }

  deinit { martlet_close(wake) }

  /// Whether no transfer has a handle, as the loop has last said: it may have changed.
  var isIdle: Bool {
    get { hasNothing.load(ordering: .relaxed) }
    set { hasNothing.store(newValue, ordering: .relaxed) }
  }

  /// Adds an operation, wakes the loop only if it sleeps, and starts one for a transfer; `false` if there is no loop.
  @discardableResult
  package func post(_ operation: Operation) -> Bool {
    switch add(operation) {
    case .none: return true
    case .wake:
      martlet_wake(wake)
      return true
    case .start:
      startThread()
      return true
    case .refusal: return false
    }
  }

  /// Starts a transfer and, if the loop sleeps and has nothing in flight, sends its request on this thread.
  ///
  /// Waking the loop for that takes longer than the work itself. In a crowd one wake is for many. The socket is there
  /// if the answer is likely to come so soon that this thread should wait for it.
  func start(_ transfer: CurlTransfer) -> (isStarted: Bool, socket: CInt?) {
    switch add(.start(transfer)) {
    case .none: return (true, nil)
    case .wake:
      // What is not available is busy, and looks after the transfer by itself.
      let isAlone = CurlLibrary.worksOnAnyThread && isIdle
      let drive = isAlone ? withLoopIfAvailable { $0?.drive(for: transfer) } : nil
      switch drive {
      case .done?: return (true, nil)
      case .answerIsNear(let socket)?: return (true, socket)
      case .threadIsNeeded?, nil:
        martlet_wake(wake)
        return (true, nil)
      }
    case .start:
      startThread()
      return (true, nil)
    case .refusal: return (false, nil)
    }
  }

  /// Waits on this thread until the answer to a request that was sent on it is there, or has taken too long; then the
  /// loop goes on with it.
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
      guard state.isRunning else {
        // A loop that has ended had nothing left: only a new transfer needs one.
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

  /// For the thread of the loop; when the process exits, it stays here.
  func withLoop<Result: Sendable>(_ body: (inout sending CurlLoop?) -> sending Result) -> Result {
    loop.withLock { loop in
      // Who waits for the lock must not be waited for: a callback may exit while it has it.
      martlet_library_await()
      defer {
        if loop == nil { martlet_library_end_thread() }
        martlet_library_leave()
      }
      return body(&loop)
    }
  }

  /// For the thread of a caller: `nil` if there is no loop, or it works, or the process exits.
  private func withLoopIfAvailable(_ body: (inout sending CurlLoop?) -> sending CurlLoop.Drive?) -> CurlLoop.Drive? {
    guard martlet_library_enter() else { return nil }
    defer { martlet_library_leave() }
    return loop.withLockIfAvailable(body) ?? nil
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

  /// There is no loop, though there has to be one: refuses what it would have done.
  func refuseAll() {
    let operations = state.withLock { state in
      state.isRunning = false
      defer { state.operations = [] }
      return state.operations
    }
    for case .start(let transfer) in operations { transfer.refuse() }
  }

  /// Whether there is a loop, for tests.
  package var isRunning: Bool { state.withLock { $0.isRunning } }

  /// Ends the loop, unless it has something to do; if `true`, another may run already, and this one must not come back.
  func end() -> Bool {
    state.withLock { state in
      guard state.operations.isEmpty else { return false }
      state.isRunning = false
      state.isAsleep = false
      return true
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
