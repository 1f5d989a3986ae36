import Testing

/// Waits until something is true, for five seconds at most.
///
/// For what no handle can be awaited for, such as an object going away.
func eventually(
  _ what: Comment, sourceLocation: SourceLocation = #_sourceLocation, _ isTrue: () async -> Bool
) async {
  for _ in 0..<2500 {
    if await isTrue() { return }
    try? await Task.sleep(for: .milliseconds(2))
  }
  Issue.record("never true: \(what)", sourceLocation: sourceLocation)
}
