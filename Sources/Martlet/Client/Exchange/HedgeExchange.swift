import MartletBase

/// One of the two exchanges of a hedged request.
final class HedgeExchange: Sendable {
  /// The branch, which ends with the call or when the other exchange wins.
  let branch: AbortBranch
  let isHedge: Bool
  private struct State: ~Copyable {
    var control: ExchangeControl?
    var isLost = false
  }

  private let state = Locked(State())

  init(_ context: RequestContext, isHedge: Bool) {
    var context = context
    branch = context.fork()
    self.isHedge = isHedge
  }

  /// The current exchange; there are several if middleware repeats the request.
  var control: ExchangeControl? { state.withLock { $0.control } }

  var isLost: Bool { state.withLock { $0.isLost } }

  func use(_ control: ExchangeControl) {
    let isLost = state.withLock { state in
      state.control = control
      return state.isLost
    }
    if isLost { control.lose(CancellationError()) }
  }

  /// The other exchange has won.
  func lose() {
    let control = state.withLock { state in
      state.isLost = true
      return state.control
    }
    control?.lose(CancellationError())
    branch.source.abort(CancellationError())
  }
}
