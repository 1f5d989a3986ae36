/// Ensures that a caller gets one result, a response or an error, and a transfer one end.
///
/// Any thread may end a transfer.
///
/// ```
///   head ──open──▶ body ──end──▶ ended      the response may come before the end, or be that of the end
///     └───────────end───────────▶
/// ```
///
/// A value under its own lock. Methods return the actions to take, which run without the lock.
struct TransferAnswer<Answer, Caller, Body> {
  enum Stage {
    case head
    case body(Body)
    case ended
  }

  private enum Delivery {
    case owed
    case awaited(by: Caller)
    /// The result waits for the caller.
    case ready(Answer)
    case done
  }

  private(set) var stage = Stage.head
  private var delivery = Delivery.owed

  var isEnded: Bool { if case .ended = stage { true } else { false } }

  /// Whether there is a result, a response or an error, taken or not.
  var isAnswered: Bool {
    switch delivery {
    case .owed, .awaited: false
    case .ready, .done: true
    }
  }

  /// Begins the response; returns `false` if the transfer has already ended.
  mutating func open(_ body: Body) -> Bool {
    guard case .head = stage else { return false }
    stage = .body(body)
    return true
  }

  /// - Returns: The previous stage, which determines the receiver of the end; `nil` if the transfer had ended before.
  mutating func end() -> Stage? {
    if isEnded { return nil }
    defer { stage = .ended }
    return stage
  }

  /// Sets the result, a response or an error, unless there is one; returns the caller if it waits.
  mutating func give(_ answer: Answer) -> Caller? {
    switch delivery {
    case .owed:
      delivery = .ready(answer)
      return nil
    case .awaited(let caller):
      delivery = .done
      return caller
    case .ready, .done: return nil
    }
  }

  /// Takes the result, or lets the caller wait for it; call it once.
  mutating func ask(_ caller: Caller) -> Answer? {
    switch delivery {
    case .ready(let answer):
      delivery = .done
      return answer
    case .owed:
      delivery = .awaited(by: caller)
      return nil
    case .awaited, .done: return nil
    }
  }
}
