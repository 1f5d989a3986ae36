/// Something that happened to a call.
public enum RequestEvent: Sendable {
  /// It runs.
  case started
  /// It waits, and why.
  case waiting(RequestEvent.WaitReason)
  /// An attempt goes out.
  case attempt(number: Int, hop: Int)
  /// The head of a response is there.
  case head(HTTPStatus)
  /// A challenge is answered, with the scheme and the realm that the server named.
  case authenticating(AuthenticationChallenge.Scheme, realm: String?)
  /// The URL of a request was made an https one, because its host wants that (RFC 6797 §8.3).
  case upgraded(host: String)
  /// A response that could be kept for later requests was not, and why.
  case notCached(String)
  /// A credential that was accepted, or a new token, could not be put into the ``CredentialStore``, and why.
  case credentialNotStored(String)
  /// A redirect is followed.
  case redirected(HTTPResponse.Redirect)
  /// An attempt failed and will be repeated after a pause.
  case retrying(HTTPResponse.Attempt)
  /// It ended; nothing comes after this.
  case ended(CallEnd)
}

extension RequestEvent {
  /// Why a call waits.
  public enum WaitReason: Sendable, Hashable {
    /// Its turn in a ``RequestQueue`` has not come.
    case queue
    /// The client's limit of connections is reached, in all or for the host.
    case connectionSlot
    /// Somebody is asked for a credential.
    case credential
    /// A pause before another attempt.
    case retryPause(Duration)
  }
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
  case waiting(RequestEvent.WaitReason)
  /// It runs.
  case running
  /// It is over.
  case ended(CallEnd)

  var isEnded: Bool { if case .ended = self { true } else { false } }
}
