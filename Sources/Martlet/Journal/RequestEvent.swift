/// An event in the life of a call.
@nonexhaustive public enum RequestEvent: Sendable {
  /// The call is running.
  case started
  /// The call waits for this reason.
  case waiting(WaitReason)
  /// An attempt is sent.
  case attempt(number: Int, hop: Int)
  /// The head of a response has arrived.
  case head(HTTPStatus)
  /// A challenge is answered, with the scheme and the realm that the server named.
  case authenticating(AuthenticationScheme, realm: String?)
  /// The URL was upgraded to https, as the HSTS policy of its host requires (RFC 6797 §8.3).
  case upgraded(host: String)
  /// A response that could be stored was not stored, with the reason.
  case notCached(String)
  /// An accepted credential or a new token could not be stored in the ``CredentialStore``, with the reason.
  case credentialNotStored(String)
  /// A redirect is followed.
  case redirected(HTTPResponse.Redirect)
  /// An attempt failed and will be repeated after a pause.
  case retrying(HTTPResponse.Attempt)
  /// The call ended; this is the last event.
  case ended(End)
}

extension RequestEvent {
  /// The reason why a call waits.
  @nonexhaustive public enum WaitReason: Sendable, Hashable {
    /// Its turn in a ``RequestQueue``.
    case queue
    /// A connection: the limit of the client or of the host is reached.
    case connectionSlot
    /// Its turn at a limit for the load of servers: ``ConcurrencyPolicy``, ``RateLimit``, or a pause that the server
    /// asked for.
    case turn
    /// The next period of the ``DataBudget``.
    case dataBudget
    /// A credential, from an authenticator.
    case credential
    /// A pause before another attempt.
    case retryDelay(Duration)
  }

  /// The outcome of a call.
  @frozen public enum End: Sendable {
    /// With an accepted response.
    case succeeded(HTTPStatus)
    /// With an error.
    case failed(any Error)
    /// By cancellation.
    case cancelled
  }

  /// The state of a call.
  @nonexhaustive public enum State: Sendable {
    /// The call waits for this reason.
    case waiting(WaitReason)
    /// The call is running.
    case running
    /// The call has ended.
    case ended(End)

    var isEnded: Bool { if case .ended = self { true } else { false } }
  }
}
