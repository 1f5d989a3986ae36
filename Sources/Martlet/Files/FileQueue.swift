import Dispatch

/// Does work that may block on a thread that may.
func onFileQueue<T: Sendable, Failure: Error>(
  _ work: @escaping @Sendable () throws(Failure) -> T
) async throws(Failure) -> T {
  let result: Result<T, Failure> = await withCheckedContinuation { continuation in
    DispatchQueue.global(qos: .userInitiated).async {
      continuation.resume(returning: Result { () throws(Failure) in try work() })
    }
  }
  return try result.get()
}
