#if os(Linux)
  import Foundation
  import FoundationNetworking

  /// One task of the session, and the transfer that does its work.
  ///
  /// ```
  ///   created ──startLoading──▶ loading ──transfer over, then by CurlSessionTasks──▶ ended
  ///      │                         └────────cancelled by the session──▶ stopped
  ///      └──transfer over before: startLoading ends the task──▶ ended
  /// ```
  ///
  /// The task carries it as its delegate, which is the one thing that goes with a task from its creation to its loading.
  ///
  /// `@unchecked Sendable`: the transfer and the protocol belong to the session's work queue once the task is resumed; the
  /// rest is the record of ``CurlSessionTasks``, under its lock.
  final class CurlSessionExchange: NSObject, URLSessionTaskDelegate, CurlTransferObserver, @unchecked Sendable {
    /// What ``CurlSessionTasks`` knows of it.
    struct Record {
      enum Phase {
        case created, loading, stopped, ended
      }

      var phase = Phase.created
      var isOver = false
      /// Until the end.
      var task: URLSessionTask?
    }

    /// Touched under the lock of ``CurlSessionTasks`` only.
    var record = Record()
    private let tasks: CurlSessionTasks
    /// Both until the end.
    private var transfer: CurlTransfer?
    private var loading: CurlURLProtocol?

    init(_ transfer: CurlTransfer, _ tasks: CurlSessionTasks) {
      self.transfer = transfer
      self.tasks = tasks
    }

    /// Makes the task; blocks while the queue that all sessions of the process share is busy.
    ///
    /// - Returns: The task and the transfer, which are both to be started now; `nil` if that was cancelled before.
    func make(in session: URLSession) -> (task: URLSessionTask, transfer: CurlTransfer)? {
      guard let transfer, !transfer.isEnded else {
        transfer = nil
        return nil
      }
      let task = Self.makeTask(for: transfer.wire, in: session)
      task.delegate = self
      tasks.began(self, task)
      return (task, transfer)
    }

    private static func makeTask(for wire: CurlRequest, in session: URLSession) -> URLSessionTask {
      guard wire.method != .get else { return session.dataTask(with: wire.location) }
      var request = URLRequest(url: wire.location)
      request.httpMethod = wire.method.rawValue
      return session.dataTask(with: request)
    }

    // MARK: On the work queue

    /// Called when the task is started, and again to end tasks.
    func startLoading(_ loading: CurlURLProtocol) {
      if self.loading == nil, transfer != nil {
        self.loading = loading
        if !tasks.isToLoad(self) { endTask() }
      }
      // While it is here, which costs as much as starting a task.
      for exchange in tasks.takeOver() { exchange.endTask() }
    }

    func stopLoading() {
      tasks.stopped(self)
      transfer?.cancel(CancellationError())
      transfer = nil
      loading = nil
    }

    private func endTask() {
      loading?.end()
      loading = nil
      transfer = nil
    }

    // MARK: On any thread

    func transferIsOver() { tasks.over(self) }
  }
#endif
