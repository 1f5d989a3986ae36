import MartletBase

/// The stored response that the cache offers as a fallback if the server fails.
final class Fallback: Sendable {
  private let offered = Locked<(@Sendable () -> StreamedResponse?)?>(nil)

  /// Keeps a closure that returns the stored response, or `nil` if it must not be used.
  func offer(_ answer: @escaping @Sendable () -> StreamedResponse?) { offered.withLock { $0 = answer } }

  func answer() -> StreamedResponse? { offered.withLock { $0 }?() }

  func forget() {
    // Released after unlocking.
    let offered = offered.withLock { $0.take() }
    _ = offered
  }
}
