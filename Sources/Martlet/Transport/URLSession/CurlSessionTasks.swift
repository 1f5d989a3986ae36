#if os(Linux)
  import Foundation
  import FoundationNetworking

  /// The tasks of one session: how many there are, and which ones are to be ended.
  ///
  /// A session hears of an end on its work queue only, and each way there costs as much as starting a task. So a task whose
  /// transfer is over waits until the next one starts, which is on that queue anyway; a timer looks after the last ones.
  final class CurlSessionTasks: Sendable {
    private struct State {
      /// The number of transfers that are not over.
      var running = 0
      var isQuick = false
      /// Those whose transfers are over and whose tasks are not ended.
      var over: [CurlSessionExchange] = []
      var isTimerSet = false
    }

    /// How long a task may wait for another one to start.
    private static let patience = DispatchTimeInterval.milliseconds(20)

    private let state = Locked(State())

    /// The number of transfers that are not over, and of tasks that wait for their end, for tests.
    var counts: (running: Int, over: Int) { state.withLock { ($0.running, $0.over.count) } }

    /// Counts an exchange that will be started.
    ///
    /// - Returns: Whether it may be started by its caller: it is alone, and the last start took no time.
    func admit() -> Bool {
      state.withLock { state in
        defer { state.running += 1 }
        return state.running == 0 && state.isQuick
      }
    }

    /// Says how long a start took: long, if others keep busy the queue that all sessions share.
    func startTook(_ duration: Duration) { state.withLock { $0.isQuick = duration < .milliseconds(1) } }

    func began(_ exchange: CurlSessionExchange, _ task: URLSessionTask) {
      state.withLock { _ in exchange.record.task = task }
    }

    /// The task is loaded from now on.
    ///
    /// - Returns: Whether there is something to do; if not, its transfer is over and the task is to be ended.
    func isToLoad(_ exchange: CurlSessionExchange) -> Bool {
      state.withLock { _ in
        guard exchange.record.isOver else {
          exchange.record.phase = .loading
          return true
        }
        exchange.record.phase = .ended
        exchange.record.task = nil
        return false
      }
    }

    /// The transfer is over.
    func over(_ exchange: CurlSessionExchange) {
      let hasToSetTimer = state.withLock { state in
        guard !exchange.record.isOver else { return false }
        exchange.record.isOver = true
        state.running -= 1
        guard exchange.record.phase == .loading else { return false }
        state.over.append(exchange)
        defer { state.isTimerSet = true }
        return !state.isTimerSet
      }
      if hasToSetTimer { setTimer() }
    }

    /// The session has cancelled the task, and ends it.
    func stopped(_ exchange: CurlSessionExchange) {
      let removed: CurlSessionExchange? = state.withLock { state in
        exchange.record.phase = .stopped
        exchange.record.task = nil
        return state.over.firstIndex { $0 === exchange }.map { state.over.remove(at: $0) }
      }
      _ = removed
    }

    /// Takes those whose tasks are to be ended; to be called on the work queue.
    func takeOver() -> [CurlSessionExchange] {
      state.withLock { state in
        guard !state.over.isEmpty else { return [] }
        defer { state.over = [] }
        for exchange in state.over {
          exchange.record.phase = .ended
          // Their protocols still hold the tasks.
          exchange.record.task = nil
        }
        return state.over
      }
    }

    private func setTimer() {
      DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { self.endLast() }
    }

    private func endLast() {
      let (task, isLeft): (URLSessionTask?, Bool) = state.withLock { state in
        state.isTimerSet = !state.over.isEmpty
        return (state.over.last?.record.task, state.isTimerSet)
      }
      guard isLeft else { return }
      // Not because it is suspended: this leads to `startLoading` once more, where all are ended.
      task?.resume()
      setTimer()
    }
  }
#endif
