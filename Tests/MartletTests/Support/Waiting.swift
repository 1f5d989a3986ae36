import Testing

/// Waits until something is true, for some time at most.
///
/// For what no handle can be awaited for, such as an object going away.
func eventually(
  _ what: Comment, sourceLocation: SourceLocation = #_sourceLocation, _ isTrue: () async -> Bool
) async {
  for _ in 0..<10_000 {
    if await isTrue() { return }
    try? await Task.sleep(for: .milliseconds(2))
  }
  Issue.record("never true: \(what)", sourceLocation: sourceLocation)
}
