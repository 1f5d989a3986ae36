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
struct TransferResult<Answer, Caller, Body> {
  enum Stage {
    case head
    case body(Body)
    case ended
  }

  private(set) var stage = Stage.head
  /// The caller, while it waits for the result.
  private var caller: Caller?
  /// The result, while it waits for the caller.
  private var result: Answer?
  /// Whether there is a result, a response or an error, taken or not.
  private(set) var isAnswered = false

  var isEnded: Bool { if case .ended = stage { true } else { false } }

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
    if isAnswered { return nil }
    isAnswered = true
    if caller == nil { result = answer }
    return caller.take()
  }

  /// Takes the result, or lets the caller wait for it; call it once.
  mutating func ask(_ caller: Caller) -> Answer? {
    if !isAnswered { self.caller = caller }
    return result.take()
  }
}
