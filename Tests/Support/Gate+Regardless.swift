extension Gate {
  /// Waits until the gate is open, also when the task is cancelled: as code that knows nothing of cancellation does.
  package func wait() async { await Task { await pass() }.value }
}
