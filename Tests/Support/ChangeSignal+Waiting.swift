package import Martlet

extension ChangeSignal {
  /// Waits until something holds whose changes it tells of; returns early when the task is cancelled.
  package func wait(until isTrue: () -> Bool) async {
    addWatcher()
    defer { removeWatcher() }
    while !Task.isCancelled {
      let version = version
      if isTrue() { return }
      await wait(after: version)
    }
  }
}
