import MartletBase

/// The last state of an indicator, and the last observed use of the network.
final class Shown: Sendable {
  private struct State {
    var isOn: Bool?
    var lastUse = Duration.zero
  }

  private let state = Locked(State())

  var isOn: Bool { state.withLock { $0.isOn == true } }

  var lastUse: Duration {
    get { state.withLock { $0.lastUse } }
    set { state.withLock { $0.lastUse = newValue } }
  }

  /// Sets the state.
  ///
  /// Returns whether it has changed.
  func change(to isOn: Bool) -> Bool {
    state.withLock { state in
      defer { state.isOn = isOn }
      return state.isOn != isOn
    }
  }
}
