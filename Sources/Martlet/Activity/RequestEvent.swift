/// Something that happened to a call.
public enum RequestEvent: Sendable {
  /// It runs.
  case started
  /// It waits, and why.
  case waiting(WaitReason)
  /// An attempt goes out.
  case attempt(number: Int, hop: Int)
  /// The head of a response is there.
  case head(HTTPStatus)
  /// A redirect is followed.
  case redirected(RedirectHop)
  /// An attempt failed and will be repeated after a pause.
  case retrying(Attempt)
  /// It ended; nothing comes after this.
  case ended(CallEnd)
}

/// Why a call waits.
public enum WaitReason: Sendable, Hashable {
  /// The client's limit of connections is reached, in all or for the host.
  case connectionSlot
  /// A pause before another attempt.
  case retryPause(Duration)
}

/// How a call ended.
public enum CallEnd: Sendable {
  /// With a response that is accepted.
  case succeeded(HTTPStatus)
  /// With an error.
  case failed(any Error)
  /// By cancellation.
  case cancelled
}

/// How far a call is.
public enum CallState: Sendable {
  /// It waits, and why.
  case waiting(WaitReason)
  /// It runs.
  case running
  /// It is over.
  case ended(CallEnd)

  var isEnded: Bool { if case .ended = self { true } else { false } }
}
