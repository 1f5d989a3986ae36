import MartletBase

/// Records the beginning and the length of a response body as it is read.
///
/// The end is logged once.
final class BodyWatch: BodyObserver {
  private struct State: ~Copyable {
    var kept = Data()
    var count = 0
    var hasEnded = false
  }

  private let log: ExchangeLog
  private let contentType: String?
  private let coding: String?
  private let keptBytes: Int
  private let state = Locked(State())

  init(_ log: ExchangeLog, _ headers: HTTPHeaders) {
    self.log = log
    contentType = headers["Content-Type"]
    coding = headers["Content-Encoding"]
    keptBytes = log.detail.contains(.body) ? log.maximumBodyBytes : 0
  }

  /// Released before the end: the reader stopped early, or knew the length and read no further.
  deinit { end(isWhole: false) }

  func took(_ piece: Data) {
    state.withLock { state in
      if state.kept.count < keptBytes { state.kept.append(piece.prefix(keptBytes - state.kept.count)) }
      state.count += piece.count
    }
  }

  func ended(_ error: (any Error)?) {
    if let error { log.failed(error) }
    end(isWhole: error == nil)
  }

  private func end(isWhole: Bool) {
    let (kept, count, isFirst) = state.withLock { state in
      defer { state.hasEnded = true }
      return (state.kept, state.count, !state.hasEnded)
    }
    if isFirst { log.ended(kept, count: count, contentType: contentType, coding: coding, isWhole: isWhole) }
  }
}
