public import Dispatch

/// Runs work that may block on a queue whose threads may block.
public func onFileQueue<T: Sendable, Failure: Error>(
  _ queue: DispatchQueue = .global(qos: .userInitiated),
  _ work: @escaping @Sendable () throws(Failure) -> T
) async throws(Failure) -> T {
  let handover = Handover()
  let result: Result<T, Failure> = await withCheckedContinuation { continuation in
    queue.async {
      let result = Result { () throws(Failure) in try work() }
      handover.record()
      continuation.resume(returning: result)
    }
  }
  handover.record()
  return try result.get()
}

/// Shows the thread sanitizer that a value has moved to another thread.
///
/// The sanitizer misses this if a continuation is resumed before its task waits. It does see locks.
private final class Handover: Sendable {
  #if DEBUG
    private let lock = Locked(())
    func record() { lock.withLock { _ in } }
  #else
    func record() {}
  #endif
}
