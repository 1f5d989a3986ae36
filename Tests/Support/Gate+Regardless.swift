extension Gate {
  /// Waits until the gate is open, even if the task is cancelled, like code that ignores cancellation.
  package func wait() async { await Task { await pass() }.value }
}
