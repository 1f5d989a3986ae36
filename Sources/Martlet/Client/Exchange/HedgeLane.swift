import MartletBase

/// One of the two exchanges of a hedged request.
final class HedgeLane: Sendable {
  /// Ends the exchange when the other one has won.
  let abortSource = AbortSource()
  let isHedge: Bool
  private struct State {
    var control: ExchangeControl?
    var isLost = false
    var token: Int?
  }

  private let state = Locked(State())

  init(isHedge: Bool) { self.isHedge = isHedge }

  /// The exchange; a lane has several if middleware repeats the request.
  var control: ExchangeControl? { state.withLock { $0.control } }

  var isLost: Bool { state.withLock { $0.isLost } }

  func use(_ control: ExchangeControl) {
    let (token, isLost) = state.withLock { state in
      state.control = control
      defer { state.token = nil }
      return (state.token, state.isLost)
    }
    // The exchange before it, if middleware repeats the request, has ended.
    if let token { abortSource.remove(token) }
    if isLost { control.lose(CancellationError()) }
    let next = abortSource.onAbort { control.abortSource.abort($0) }
    state.withLock { $0.token = next }
  }

  /// Ends the lane with a call; returns the token for the end of that.
  func follow(_ source: AbortSource) -> Int { source.onAbort { [self] in abortSource.abort($0) } }

  /// The other exchange has won.
  func lose() {
    let control = state.withLock { state in
      state.isLost = true
      return state.control
    }
    control?.lose(CancellationError())
    abortSource.abort(CancellationError())
  }
}
