import MartletBase
import Dispatch

/// Threads for closures of users that hear of progress, which may block.
///
/// At most ``width`` of them run at a time, each on the thread of a queue of its own: the queues of the system, which
/// tasks and files use, lose no thread to a closure that blocks. What comes when all lanes are taken waits for one, in
/// order.
final class ProgressLanes: Sendable {
  typealias Work = @Sendable () -> Void

  private struct State {
    var idle: [DispatchQueue]
    var waiting = FirstInFirstOut<Work>()
  }

  static let shared = ProgressLanes(width: 8)

  private let state: Locked<State>

  init(width: Int) {
    // A serial queue gets a thread of its own as long as it has work.
    state = Locked(State(idle: (0..<width).map { DispatchQueue(label: "Martlet.Progress.\($0)") }))
  }

  /// Does something on a lane, now or when one is free.
  func run(_ work: @escaping Work) {
    let lane: DispatchQueue? = state.withLock {
      if let lane = $0.idle.popLast() { return lane }
      $0.waiting.append(work)
      return nil
    }
    lane?.async { self.work(work, on: lane) }
  }

  private func work(_ first: @escaping Work, on lane: DispatchQueue?) {
    var work: Work? = first
    while let current = work {
      current()
      work = state.withLock {
        if let next = $0.waiting.popFirst() { return next }
        if let lane { $0.idle.append(lane) }
        return nil
      }
    }
  }
}
