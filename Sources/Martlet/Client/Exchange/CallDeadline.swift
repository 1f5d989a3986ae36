import MartletBase

/// The deadline of a call, by the clock of its client.
final class CallDeadline: Sendable {
  let deadline: Deadline
  let end: Duration

  init(_ deadline: Deadline, _ timeline: Timeline) {
    self.deadline = deadline
    end = timeline.now() + deadline.remaining
  }

  /// The error of a request that it ends.
  var error: HTTPError {
    var error = HTTPError(.timedOut, "the \(deadline) passed")
    error.deadline = deadline
    return error
  }
}
