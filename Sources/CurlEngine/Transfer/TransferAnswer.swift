/// What is owed to the caller of a transfer, which any thread may end: one answer, and one end.
///
/// ```
///   head ──open──▶ body ──end──▶ ended      the answer may come before the end, or be the end's
///     └───────────end───────────▶
/// ```
///
/// A value, kept under a lock of its own; what has to be done comes out, and is done without the lock.
struct TransferAnswer<Answer, Caller, Body> {
  enum Stage {
    /// There is no response yet.
    case head
    case body(Body)
    case ended
  }

  private enum Delivery {
    case owed
    case awaited(by: Caller)
    /// It waits for the caller.
    case ready(Answer)
    case done
  }

  private(set) var stage = Stage.head
  private var delivery = Delivery.owed

  var isEnded: Bool { if case .ended = stage { true } else { false } }

  /// Whether there is an answer, taken or not.
  var isAnswered: Bool {
    switch delivery {
    case .owed, .awaited: false
    case .ready, .done: true
    }
  }

  /// The response has begun; `false` if nobody wants it, because the end came meanwhile.
  mutating func open(_ body: Body) -> Bool {
    guard case .head = stage else { return false }
    stage = .body(body)
    return true
  }

  /// - Returns: The stage before, which says who has to hear of the end; `nil` if the end had come already.
  mutating func end() -> Stage? {
    if isEnded { return nil }
    defer { stage = .ended }
    return stage
  }

  /// The caller gets this, what comes later is ignored; returns the caller, if it waits.
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

  /// The caller asks, once; it waits if there is no answer yet.
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
