import MartletBase

/// Reports the progress of a file; bytes of an earlier download count, but not in the rate.
final class DownloadProgress: Sendable {
  private let timeline: Timeline
  private let listener: (@Sendable (TransferProgress) -> Void)?
  private let ledger = Locked(ProgressLedger())

  init(_ timeline: Timeline, _ listener: (@Sendable (TransferProgress) -> Void)?) {
    self.timeline = timeline
    self.listener = listener
  }

  /// Starts a version of the file, of which `received` bytes exist already.
  func begin(at received: Int64, of expected: Int64?) {
    add(Int(clamping: received), (received, expected), isNew: true)
  }

  func add(_ bytes: Int, _ file: (received: Int64, expected: Int64?), isNew: Bool = false) {
    deliver { ledger, now in
      if isNew { ledger.begin() }
      ledger.add(
        sent: 0, received: bytes, ExchangeBytes(received: file.received, expectedToReceive: file.expected))
      return ledger.due(sent: 0, received: isNew ? 0 : bytes, now: now)
    }
  }

  func deliverEnd() { deliver { $0.last(succeeded: true, now: $1) } }

  private func deliver(_ change: (inout ProgressLedger, Duration) -> TransferProgress?) {
    guard let listener else { return }
    let now = timeline.now()
    if let progress = ledger.withLock({ change(&$0, now) }) { listener(progress) }
  }
}
