import MartletBase
import Dispatch

/// Saves to a file, one save at a time: taking the changes, merging and applying them is one step.
///
/// Calls that waited during a failed save share its failure, instead of waiting for another save.
final class SaveQueue: Sendable {
  private let queue: DispatchQueue
  private let failures = Locked<(count: Int, last: HTTPError?)>((0, nil))

  init(label: String) { queue = DispatchQueue(label: label) }

  /// Runs a save in its turn; a save that the program requests always tries to write.
  func save(
    isAsked: Bool = false, _ work: @escaping @Sendable () throws(HTTPError) -> Void
  ) async throws(HTTPError) {
    let seen = failures.withLock { $0.count }
    try await onFileQueue(queue) { [self] () throws(HTTPError) in
      if !isAsked, let failed = failures.withLock({ $0.count == seen ? nil : $0.last }) { throw failed }
      do throws(HTTPError) {
        try work()
      } catch {
        failures.withLock { $0 = ($0.count + 1, error) }
        throw error
      }
    }
  }
}

/// The executor of an actor that accesses files.
///
/// Its jobs run in order, on a thread that may block.
final class FileExecutor: SerialExecutor {
  private let queue: DispatchQueue

  init(label: String) { queue = DispatchQueue(label: label) }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}
