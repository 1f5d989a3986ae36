import Martlet
import MartletBase

/// The beginning of a message that arrives or is sent in parts, for instruments.
struct PartialReport: Sendable {
  private var beginning = Data()
  private var count = 0

  mutating func add(_ bytes: Data, limit: Int) {
    if beginning.count < limit { beginning += bytes.prefix(limit - beginning.count) }
    count += bytes.count
  }

  func report(_ direction: InstrumentEvent.Message.Direction, isText: Bool, on connection: UpgradedConnection) {
    connection.report(direction, isText ? .text : .binary, beginning, count: count)
  }
}

// Without instruments, these functions do nothing.
extension WebSocketSession {
  func reportSent(_ message: Message) {
    guard let limit = connection.maximumReportedBytes else { return }
    switch message {
    case .text(let text): report(.sent, text, limit)
    case .binary(let data): connection.report(.sent, .binary, data, count: data.count)
    }
  }

  func reportSentClose(_ code: WebSocketCloseCode?, _ reason: String) { reportClose(.sent, code, reason) }

  func reportReceived(_ event: WebSocketEvent) {
    guard let limit = connection.maximumReportedBytes else { return }
    switch event {
    case .text(let text): report(.received, text, limit)
    case .binary(let data): connection.report(.received, .binary, data, count: data.count)
    case .part(let kind, let data, let isFirst, let isLast):
      let whole = receivedParts.withLock { parts -> PartialReport? in
        if isFirst { parts = PartialReport() }
        parts.add(data, limit: limit)
        return isLast ? exchange(&parts, with: PartialReport()) : nil
      }
      whole?.report(.received, isText: kind == .text, on: connection)
    case .close(let code, let reason): reportClose(.received, code, reason)
    case .ping, .pong: break
    }
  }

  private func report(_ direction: InstrumentEvent.Message.Direction, _ text: String, _ limit: Int) {
    connection.report(direction, .text, Data(text.utf8.prefix(limit)), count: text.utf8.count)
  }

  private func reportClose(
    _ direction: InstrumentEvent.Message.Direction, _ code: WebSocketCloseCode?, _ reason: String
  ) {
    guard connection.maximumReportedBytes != nil else { return }
    let payload = FrameCoding.closePayload(code, reason: reason)
    connection.report(direction, .close, payload, count: payload.count)
  }
}
