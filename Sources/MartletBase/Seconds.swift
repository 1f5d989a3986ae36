extension Duration {
  /// The duration as a number of seconds.
  ///
  /// Many times as quick as the division of two durations, or the conversion of `attoseconds`, which has 128 bits.
  package var inSeconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) / 1e18
  }
}
