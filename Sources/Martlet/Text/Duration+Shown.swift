import MartletBase

extension Duration {
  /// The duration for messages, such as `2.5 ms` or `30.0 s`.
  var shown: String {
    let seconds = inSeconds
    if seconds < 1 { return "\((seconds * 10_000).rounded() / 10) ms" }
    return "\((seconds * 100).rounded() / 100) s"
  }
}
