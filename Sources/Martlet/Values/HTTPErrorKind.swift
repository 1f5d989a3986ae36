extension HTTPError {
  /// The kinds of failures: each one is something that a caller could act on differently.
  ///
  /// A struct with static members, so that a later version can add one without breaking a `switch`.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The name, as in the code.
    public let description: String

    init(_ name: String) { description = name }

    /// The request cannot be sent as it is: an illegal URL, method, header, body or option.
    ///
    /// Nothing was sent, unless the phase is ``HTTPError/Phase/sending``: then a stream had another length than was said.
    public static let invalidRequest = Kind("invalidRequest")
    /// No connection: the name is unknown, nobody listens, or there are no descriptors.
    ///
    /// Nothing was sent.
    public static let cannotConnect = Kind("cannotConnect")
    /// The TLS handshake or the check of a certificate failed.
    ///
    /// Nothing was sent.
    public static let tls = Kind("tls")
    /// A limit of ``TimeoutPolicy`` passed; ``HTTPError/phase`` tells where.
    public static let timedOut = Kind("timedOut")
    /// The connection ended before the response was whole.
    public static let connectionLost = Kind("connectionLost")
    /// The server sent something that is not HTTP.
    public static let protocolViolation = Kind("protocolViolation")
    /// The response is whole, but its status is not accepted.
    public static let status = Kind("status")
    /// More redirects than ``RedirectPolicy/maximumHops``.
    public static let tooManyRedirects = Kind("tooManyRedirects")
    /// A redirect that must not be followed: to another scheme, or from https to http.
    public static let redirectRefused = Kind("redirectRefused")
    /// A guard of the client does not let the request go where it would (``RequestGuard``).
    ///
    /// Nothing was sent there.
    public static let refusedByGuard = Kind("refusedByGuard")
    /// A credential could not be got or renewed, or a server wants it in a weaker way than it did before.
    ///
    /// A credential that is refused is the response with 401, as ``status``.
    public static let authenticationFailed = Kind("authenticationFailed")
    /// The body is not what the type needs.
    public static let decoding = Kind("decoding")
    /// Only a stored response was allowed, and there is none.
    public static let notCached = Kind("notCached")
    /// The body is larger than ``RequestOptions/maximumBodyBytes``, or a request body than it may be spooled up to.
    public static let bodyTooLarge = Kind("bodyTooLarge")
    /// The body would have to be sent again, and cannot.
    public static let bodyNotReplayable = Kind("bodyNotReplayable")
    /// A file could not be read or written.
    public static let file = Kind("file")
    /// The destination of a download is being downloaded to already, in this process or another one.
    public static let downloadInProgress = Kind("downloadInProgress")
    /// A downloaded file is not the one that its checksum, or the server's digest field, belongs to.
    ///
    /// The destination is as it was; what was downloaded is not gone on with.
    public static let checksumMismatch = Kind("checksumMismatch")
    /// A queue ended the request: one that it depended on failed.
    public static let queue = Kind("queue")
    /// The transport cannot do what was asked.
    public static let unsupported = Kind("unsupported")
    /// The client is draining or drained, or the process exits (on Linux): no new requests are taken.
    public static let clientClosed = Kind("clientClosed")
    /// A middleware or another closure of the program threw something that is not an `HTTPError`.
    ///
    /// Only in callbacks, which are typed; an awaited call throws that error itself.
    public static let middleware = Kind("middleware")
    /// The call was cancelled.
    ///
    /// Only in callbacks with ``RequestOptions/reportsCancellation``; an awaited call throws `CancellationError`.
    public static let cancelled = Kind("cancelled")
  }
}
