extension HTTPError {
  /// A kind of failure that a caller could handle differently from others.
  ///
  /// A struct with static members, so a later version can add kinds without breaking a `switch`.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The name of the static member.
    public let description: String

    /// Creates a kind from its name: one of the static members, or another one for your own errors.
    public init(_ name: String) { description = name }

    /// The request is invalid: an illegal URL, method, header, body or option.
    ///
    /// Nothing was sent, unless the phase is ``HTTPError/Phase/sending``: then a stream had a different length than
    /// declared, or its trailers were illegal.
    public static let invalidRequest = Kind("invalidRequest")
    /// No connection: the host is unknown or refuses it, or no file descriptors are left.
    ///
    /// Nothing was sent.
    public static let cannotConnect = Kind("cannotConnect")
    /// The TLS handshake or the verification of a certificate failed.
    ///
    /// Nothing was sent.
    public static let tls = Kind("tls")
    /// A limit of ``TimeoutPolicy`` expired; ``HTTPError/phase`` reports the phase.
    public static let timedOut = Kind("timedOut")
    /// The connection ended before the response was complete.
    public static let connectionLost = Kind("connectionLost")
    /// The server sent something that is not HTTP.
    public static let protocolViolation = Kind("protocolViolation")
    /// The response is complete, but its status is not accepted.
    public static let status = Kind("status")
    /// More redirects than ``RedirectPolicy/maximumHops``.
    public static let tooManyRedirects = Kind("tooManyRedirects")
    /// A redirect that must not be followed: to another scheme, or from https to http.
    public static let redirectRefused = Kind("redirectRefused")
    /// A ``RequestGuard`` of the client rejected the destination.
    ///
    /// Nothing was sent to it.
    public static let refusedByGuard = Kind("refusedByGuard")
    /// A credential could not be obtained or renewed, or a server requests a weaker scheme than before.
    ///
    /// A rejected credential is reported as ``status``, with the 401 response.
    public static let authenticationFailed = Kind("authenticationFailed")
    /// The body could not be decoded as the requested type.
    public static let decoding = Kind("decoding")
    /// Only a stored response was allowed, and there is none.
    public static let notCached = Kind("notCached")
    /// A response body exceeds ``RequestOptions/maximumBodyBytes``, or a request body exceeds its spooling limit.
    public static let bodyTooLarge = Kind("bodyTooLarge")
    /// The body would have to be sent again, but can be sent only once.
    public static let bodyNotReplayable = Kind("bodyNotReplayable")
    /// A file could not be read or written.
    public static let fileFailed = Kind("fileFailed")
    /// Another download to the same destination is in progress, in this process or another one.
    public static let downloadInProgress = Kind("downloadInProgress")
    /// A downloaded file does not match its checksum or the server's digest field.
    ///
    /// The destination is unchanged, and the downloaded part is not resumed.
    public static let checksumMismatch = Kind("checksumMismatch")
    /// A queue refused or ended the request, for example because a request that it depends on failed.
    public static let queueFailed = Kind("queueFailed")
    /// The request would have waited too long, or behind too many others, because of a load limit.
    ///
    /// The limits are ``ConcurrencyPolicy`` and ``RateLimit``. Nothing was sent.
    public static let overloaded = Kind("overloaded")
    /// The origin could not be reached before, and the ``CircuitBreaker`` is open.
    ///
    /// ``HTTPError/underlying`` is the last failure. Nothing was sent.
    public static let circuitOpen = Kind("circuitOpen")
    /// The ``DataBudget`` is used up.
    ///
    /// Nothing was sent.
    public static let dataBudgetExceeded = Kind("dataBudgetExceeded")
    /// The transport does not support something that the request needs.
    public static let unsupported = Kind("unsupported")
    /// The client accepts no new requests: it is draining or drained, or the process is exiting (on Linux).
    public static let clientClosed = Kind("clientClosed")
    /// A middleware or another closure of the program threw an error that is not an `HTTPError`.
    ///
    /// Only in callbacks, whose errors are typed; an awaited call throws the original error.
    public static let middlewareFailed = Kind("middlewareFailed")
    /// The call was cancelled.
    ///
    /// Only in callbacks with ``RequestOptions/reportsCancellation``; an awaited call throws `CancellationError`.
    public static let cancelled = Kind("cancelled")
  }
}
