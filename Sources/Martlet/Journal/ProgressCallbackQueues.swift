import MartletBase
import Dispatch

/// Threads for users' progress closures, which may block.
///
/// At most `width` closures run at a time, each on the thread of a separate queue. The system's queues, which tasks and
/// files use, therefore lose no thread to a blocking closure. When all queues are busy, further work waits in order.
final class ProgressCallbackQueues: Sendable {
  typealias Work = @Sendable () -> Void

  private struct State: ~Copyable {
    var idle: [DispatchQueue]
    var waiting = FirstInFirstOut<Work>()
  }

  static let shared = ProgressCallbackQueues(width: 8)

  private let state: Locked<State>

  init(width: Int) {
    // A serial queue has its own thread as long as it has work.
    state = Locked(State(idle: (0..<width).map { DispatchQueue(label: "Martlet.Progress.\($0)") }))
  }

  func run(_ work: @escaping Work) {
    let lane: DispatchQueue? = state.withLock {
      if let lane = $0.idle.popLast() { return lane }
      $0.waiting.append(work)
      return nil
    }
    if let lane { lane.async { self.work(work, on: lane) } }
  }

  private func work(_ first: @escaping Work, on lane: DispatchQueue) {
    var work: Work? = first
    while let current = work {
      current()
      work = state.withLock {
        if let next = $0.waiting.popFirst() { return next }
        $0.idle.append(lane)
        return nil
      }
    }
  }
}
