import MartletBase

/// The beginnings of an exchange's bodies, for instruments.
final class BodyCapture: BodyObserver {
  private struct State: ~Copyable {
    var sent: InstrumentEvent.Body?
    var received: Data?
    var receivedCount: Int64 = 0
    var isWhole = false
  }

  private let limit: Int
  private let state = Locked(State())

  init(_ limit: Int) { self.limit = limit }

  var sent: InstrumentEvent.Body? { state.withLock { $0.sent } }

  var received: InstrumentEvent.Body? {
    state.withLock { state in
      state.received.map { data in
        InstrumentEvent.Body(
          data: data, isWhole: state.isWhole && Int64(data.count) == state.receivedCount, count: state.receivedCount)
      }
    }
  }

  /// Records the body of the request, if it is in memory.
  func sends(_ body: HTTPBody?) {
    var beginning = Data()
    guard let content = body?.content, let count = gather(content, into: &beginning) else { return }
    let sent = InstrumentEvent.Body(data: beginning, isWhole: count == Int64(beginning.count), count: count)
    state.withLock { $0.sent = sent }
  }

  /// Appends the beginning of a content, and returns its length; `nil` if it is not in memory.
  private func gather(_ content: HTTPBody.Content, into beginning: inout Data) -> Int64? {
    switch content {
    case .data(let data):
      beginning += data.prefix(max(limit - beginning.count, 0))
      return Int64(data.count)
    case .pieces(let pieces):
      var sum: Int64 = 0
      for piece in pieces {
        guard let count = gather(piece, into: &beginning) else { return nil }
        sum += count
      }
      return sum
    case .file, .stream, .compressed, .spool, .json, .invalid: return nil
    }
  }

  /// Returns the response body, which is recorded as it is read.
  func receiving(_ body: ResponseBody) -> ResponseBody {
    state.withLock { $0.received = Data() }
    return body.watched(by: self)
  }

  func took(_ piece: Data) {
    state.withLock { state in
      let kept = state.received?.count ?? 0
      if kept < limit { state.received?.append(piece.prefix(limit - kept)) }
      state.receivedCount += Int64(piece.count)
    }
  }

  func ended(_ error: (any Error)?) {
    if error == nil { state.withLock { $0.isWhole = true } }
  }
}

extension InstrumentEvent {
  /// The number of body bytes in the event.
  var bodyBytes: Int {
    switch kind {
    case .exchangeEnded(let summary, _):
      (summary.sentBody?.data.count ?? 0) + (summary.receivedBody?.data.count ?? 0)
    case .message(let message, _): message.body.data.count
    default: 0
    }
  }

  var withoutBodies: InstrumentEvent {
    let bare: Kind
    switch kind {
    case .exchangeEnded(let summary, let exchange):
      let ending = Summary(
        sentBytes: summary.sentBytes, receivedBytes: summary.receivedBytes, phase: summary.phase,
        failure: summary.failure, duration: summary.duration, sentBody: nil, receivedBody: nil,
        httpVersion: summary.httpVersion, connection: summary.connection, timing: summary.timing)
      bare = .exchangeEnded(ending, exchange: exchange)
    case .message(let message, let exchange):
      let body = Body(data: Data(), isWhole: false, count: message.body.count)
      bare = .message(Message(direction: message.direction, kind: message.kind, body: body), exchange: exchange)
    default: return self
    }
    return InstrumentEvent(shown: shown, time: time, kind: bare, droppedCount: droppedCount)
  }
}
