/// Tells somebody how far a download is: not more than 20 times a second, never less than before within one version of
/// the file, and the end for certain.
final class DownloadProgress: Sendable {
  private struct State {
    var last: Duration?
    var told: TransferProgress?
  }

  static let pause = Duration.milliseconds(50)

  private let timeline: Timeline
  private let listener: (@Sendable (TransferProgress) -> Void)?
  private let state = Locked(State())

  init(_ timeline: Timeline, _ listener: (@Sendable (TransferProgress) -> Void)?) {
    self.timeline = timeline
    self.listener = listener
  }

  func report(_ now: @autoclosure () -> (received: Int64, expected: Int64?), isLast: Bool = false) {
    guard let listener else { return }
    let time = timeline.now()
    let isDue = state.withLock { state in
      if !isLast, let last = state.last, time - last < Self.pause { return false }
      state.last = time
      return true
    }
    guard isDue else { return }
    let (received, expected) = now()
    let progress = TransferProgress(sent: 0, received: received, expectedToSend: nil, expectedToReceive: expected)
    let isNew = state.withLock { state in
      guard state.told != progress else { return false }
      state.told = progress
      return true
    }
    if isNew { listener(progress) }
  }
}
