import Synchronization

/// What an indicator showed last.
final class Shown: Sendable {
  private let state = Atomic<Int>(-1)

  var isOn: Bool { state.load(ordering: .relaxed) == 1 }

  /// - Returns: Whether this is a change.
  func change(to isOn: Bool) -> Bool { state.exchange(isOn ? 1 : 0, ordering: .relaxed) != (isOn ? 1 : 0) }
}
