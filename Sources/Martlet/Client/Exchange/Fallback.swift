import MartletBase

/// The stored response that the cache offers as a fallback if the server fails.
final class Fallback: Sendable {
  private let offered = Locked<(@Sendable () -> StreamedResponse?)?>(nil)

  /// Keeps a closure that returns the stored response, or `nil` if it must not be used.
  func offer(_ answer: @escaping @Sendable () -> StreamedResponse?) { offered.withLock { $0 = answer } }

  func answer() -> StreamedResponse? { offered.withLock { $0 }?() }

  func forget() {
    let offered = offered.withLock { offered in
      defer { offered = nil }
      return offered
    }
    // Released after unlocking.
    _ = offered
  }
}
