#if canImport(Darwin) || URLSession
  #if os(Linux)
    import CurlEngine
    import MartletBase
    import Foundation
    import FoundationNetworking

    /// One task of the session, and its transfer.
    ///
    /// ```
    ///   made ──startLoading──▶ loading ──transfer over: resumed, startLoading──▶ ended
    ///     │                       └──────cancelled by the session──▶ stopped
    ///     └──transfer over before: startLoading ends the task──▶ ended
    /// ```
    ///
    /// The task has it as its delegate, which is the only object that stays with a task from its creation to its loading.
    final class CurlSessionExchange: NSObject, URLSessionTaskDelegate, Sendable {
      private struct State: ~Copyable {
        /// The transfer, until its end.
        var transfer: CurlTransfer?
        var task: URLSessionTask?
      }

      private let state: Locked<State>

      init(_ transfer: CurlTransfer) { state = Locked(State(transfer: transfer)) }

      /// The task, for tests.
      var task: URLSessionTask? { state.withLock { $0.task } }

      /// Creates and starts the task; blocks while the queue of all sessions is busy.
      func start(in session: URLSession) {
        guard let job = state.withLock({ $0.transfer?.job }) else { return }
        var request = URLRequest(url: URL(string: job.url) ?? AbsoluteURL.localhost.url)
        request.httpMethod = job.method
        let task = session.dataTask(with: request)
        task.delegate = self
        state.withLock { if $0.transfer != nil { $0.task = task } }
        task.resume()
      }

      /// Releases the transfer, so no further task is created for it.
      func transferIsOver() { state.withLock { $0.transfer = nil } }

      /// Ends the task; blocks as ``start(in:)`` does.
      func end() {
        let task = state.withLock { exchange(&$0, with: State()).task }
        // The task is not suspended: resuming it leads to another `startLoading` on the work queue.
        task?.resume()
      }

      // MARK: On the session's work queue

      /// Whether the transfer is in progress; if not, the task is to be ended.
      var isUnderWay: Bool { state.withLock { $0.transfer != nil } }

      /// Cancels the transfer, because the session has cancelled the task.
      func stop() {
        let transfer = state.withLock { exchange(&$0, with: State()).transfer }
        transfer?.cancel(CancellationError())
      }
    }
  #endif
#endif
