import MartletBase
import Foundation

/// The beginnings of the bodies of an exchange, for instruments.
final class BodyCapture: Sendable {
  private struct State {
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

  /// Notes the body of the request, if it is in memory.
  func sends(_ body: HTTPBody?) {
    switch body?.content {
    case .data, .pieces: break
    default: return
    }
    guard let data = try? body?.content.gathered() else { return }
    let beginning = data.count > limit ? Data(data.prefix(limit)) : data
    let sent = InstrumentEvent.Body(data: beginning, isWhole: data.count <= limit, count: Int64(data.count))
    state.withLock { $0.sent = sent }
  }

  /// The body of the response, noted as it is read.
  func receiving(_ body: ResponseBody) -> ResponseBody {
    state.withLock { $0.received = Data() }
    if let data = body.immediate {
      took(data)
      ended()
      return body
    }
    return body.mapped { pull in
      {
        let piece = try await pull()
        if let piece { self.took(piece) } else { self.ended() }
        return piece
      }
    }
  }

  private func took(_ piece: Data) {
    state.withLock { state in
      let kept = state.received?.count ?? 0
      if kept < limit { state.received?.append(piece.prefix(limit - kept)) }
      state.receivedCount += Int64(piece.count)
    }
  }

  private func ended() { state.withLock { $0.isWhole = true } }
}
