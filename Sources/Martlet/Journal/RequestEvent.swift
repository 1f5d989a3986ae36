/// An event in the life of a call.
@nonexhaustive public enum RequestEvent: Sendable {
  /// The call is running.
  case started
  /// The call waits for this reason.
  case waiting(WaitReason)
  /// An attempt began.
  case attempt(number: Int, hop: Int)
  /// An informational response has arrived before the response, such as 103 (Early Hints).
  ///
  /// Only the Linux engine reports them, except 100 and 101: up to 64 for each exchange, with at most 16 KiB of fields.
  case informational(HTTPResponse.Informational)
  /// The head of a response has arrived.
  case head(HTTPStatus)
  /// A challenge is answered, with its scheme and realm.
  case authenticating(AuthenticationScheme, realm: String?)
  /// HSTS has upgraded the URL to https (RFC 6797 §8.3).
  case upgraded(host: String)
  /// A response that could be stored was not stored, with the reason.
  case notCached(String)
  /// A credential could not be stored in the ``CredentialStore``.
  ///
  /// It is an accepted credential or a new token; the text contains the reason.
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
    /// Waits to be started by a ``RequestQueue``.
    case queue
    /// Waits for a connection: the limit of the client or of the host is reached.
    case connectionSlot
    /// Waits for a network, on Apple platforms: a ``URLSessionTransport`` has set `waitsForConnectivity`.
    ///
    /// Only the total limit applies, until the request or the response progresses.
    case connectivity
    /// Waits for a load limit: ``ConcurrencyPolicy``, ``RateLimit``, or a pause that the server requested.
    case turn
    /// Waits for the next period of the ``DataBudget``.
    case dataBudget
    /// Waits for a credential from an authenticator.
    case credential
    /// Waits before another attempt.
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
  ///
  /// Errors cannot be compared, so match states: `if case .ended(.succeeded(let status)) = handle.state { … }`.
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
