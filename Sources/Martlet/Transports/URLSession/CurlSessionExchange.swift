#if os(Linux)
  import CurlEngine
  import MartletBase
  import Foundation
  import FoundationNetworking

  /// One task of the session, and the transfer for which it stands.
  ///
  /// ```
  ///   made ──startLoading──▶ loading ──transfer over: resumed, startLoading──▶ ended
  ///     │                       └──────cancelled by the session──▶ stopped
  ///     └──transfer over before: startLoading ends the task──▶ ended
  /// ```
  ///
  /// The task carries it as its delegate, which is the one thing that goes with a task from its creation to its loading.
  final class CurlSessionExchange: NSObject, URLSessionTaskDelegate, Sendable {
    private struct State {
      /// Until the end.
      var transfer: CurlTransfer?
      var task: URLSessionTask?
    }

    private let state: Locked<State>

    init(_ transfer: CurlTransfer) { state = Locked(State(transfer: transfer)) }

    /// The task, for tests.
    var task: URLSessionTask? { state.withLock { $0.task } }

    /// Makes the task and starts it; blocks while the queue that all sessions of the process share is busy.
    func start(in session: URLSession) {
      guard let job = state.withLock({ $0.transfer?.job }) else { return }
      var request = URLRequest(url: URL(string: job.url) ?? URL(filePath: "/"))
      request.httpMethod = job.method
      let task = session.dataTask(with: request)
      task.delegate = self
      state.withLock { if $0.transfer != nil { $0.task = task } }
      task.resume()
    }

    /// Lets go of the transfer, so that no task is made for it any more.
    func transferIsOver() { state.withLock { $0.transfer = nil } }

    /// Ends the task; blocks as ``start(in:)`` does.
    func end() {
      let task = state.withLock { state in
        defer { state = State() }
        return state.task
      }
      // Not because it is suspended: this leads to `startLoading` once more, on the work queue.
      task?.resume()
    }

    // MARK: On the session's work queue

    /// Whether there is something to wait for; if not, the task is to be ended.
    var isUnderWay: Bool { state.withLock { $0.transfer != nil } }

    /// The session has cancelled the task, and ends it.
    func stop() {
      let transfer = state.withLock { state in
        defer { state = State() }
        return state.transfer
      }
      transfer?.cancel(CancellationError())
    }
  }
#endif
