#if canImport(Darwin) || URLSession
  #if os(Linux)
    import CurlEngine
    import MartletBase
    import CMartletShim
    import Foundation
    import FoundationNetworking

    /// The tasks of one session: one per long transfer, until the transfer ends.
    ///
    /// ```
    ///   start ──▶ new ──tick──▶ waiting ──tick──▶ lasting: has a task ──over──▶ the task is ended
    ///              └──────over────┴──────▶ no task was made
    /// ```
    ///
    /// A task costs three times as much as the rest of a short request. Creating, starting and ending one waits for a
    /// queue that all sessions of the process share. So all of that happens on a separate queue, for long transfers only.
    final class CurlSessionTasks: CurlTransferObserver, Sendable {
      private struct State: ~Copyable {
        /// The transfers that began after the last tick, and those that began before it.
        var new: [ObjectIdentifier: CurlTransfer] = [:]
        var waiting: [ObjectIdentifier: CurlTransfer] = [:]
        /// The transfers that have a task.
        var lasting: [ObjectIdentifier: CurlSessionExchange] = [:]
        var isTicking = false
        var isClosed = false
      }

      /// The minimum age of a transfer that gets a task; the maximum is twice that.
      static let patience = DispatchTimeInterval.milliseconds(50)

      private let patience: DispatchTimeInterval
      private let state = Locked(State())
      /// The session; the first long transfer opens it.
      private let opened = Locked<URLSession?>(nil)
      /// The queue on which tasks are created, started and ended, all of which may block.
      private let queue = DispatchQueue(label: "Martlet.CurlSession")

      init(patience: DispatchTimeInterval = CurlSessionTasks.patience) { self.patience = patience }

      /// The numbers of running transfers and of those with a task, for tests.
      var counts: (running: Int, lasting: Int) {
        state.withLock { ($0.new.count + $0.waiting.count + $0.lasting.count, $0.lasting.count) }
      }

      /// Whether there are no transfers, for tests.
      var isIdle: Bool {
        state.withLock { $0.new.isEmpty && $0.waiting.isEmpty && $0.lasting.isEmpty && !$0.isTicking }
      }

      /// The session, once there was a long request.
      var session: URLSession? { opened.withLock { $0 } }

      /// Tracks a transfer that is about to start, until it is over.
      func add(_ transfer: CurlTransfer) {
        transfer.observer = self
        let hasToTick = state.withLock { state in
          state.new[ObjectIdentifier(transfer)] = transfer
          return !exchange(&state.isTicking, with: true)
        }
        if hasToTick { tick() }
      }

      func transferIsOver(_ transfer: CurlTransfer) {
        let id = ObjectIdentifier(transfer)
        let exchange: CurlSessionExchange? = state.withLock { state in
          if state.new.removeValue(forKey: id) != nil || state.waiting.removeValue(forKey: id) != nil { return nil }
          return state.lasting.removeValue(forKey: id)
        }
        // The loop calls this and must not wait.
        guard let exchange else { return }
        exchange.transferIsOver()
        queue.async { exchange.end() }
      }

      /// Creates no more tasks; the session ends with the last one.
      func close() {
        queue.async { [self] in
          state.withLock { $0.isClosed = true }
          // Done here, so the last release does not do it, perhaps on the loop.
          let session = opened.withLock { $0.take() }
          session?.finishTasksAndInvalidate()
        }
      }

      private func tick() { queue.asyncAfter(deadline: .now() + patience) { self.makeTasks() } }

      private func makeTasks() {
        let isExiting = CurlLibrary.isExiting
        let (exchanges, goesOn): ([CurlSessionExchange], Bool) = state.withLock { state in
          guard !state.isClosed, !isExiting else { return ([], false) }
          let exchanges = state.waiting.map { id, transfer in
            let exchange = CurlSessionExchange(transfer)
            state.lasting[id] = exchange
            return exchange
          }
          state.waiting = exchange(&state.new, with: [:])
          state.isTicking = !state.waiting.isEmpty
          return (exchanges, state.isTicking)
        }
        if !exchanges.isEmpty, let session = openSession() { for exchange in exchanges { exchange.start(in: session) } }
        if goesOn { tick() }
      }

      /// The session; `nil` if the process is exiting.
      ///
      /// It has no delegate: with one, resuming a task after its end would crash the process.
      private func openSession() -> URLSession? {
        opened.withLock { session in
          if let session { return session }
          guard martlet_library_enter() else { return nil }
          defer { martlet_library_leave() }
          let configuration = URLSessionLoader.configuration
          configuration.protocolClasses = [CurlURLProtocol.self]
          let made = URLSession(configuration: configuration)
          session = made
          return made
        }
      }
    }
  #endif
#endif
