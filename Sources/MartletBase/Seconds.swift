extension Duration {
  /// The duration as a number of seconds; many times as quick as the division of two durations.
  package var inSeconds: Double { Double(attoseconds) / 1e18 }
}
