public import MartletBase

/// The error of a failed call; a cancelled call throws `CancellationError`.
///
/// There is a single type, so one `catch` is enough; ``kind`` distinguishes the failures that a caller could
/// handle differently. The description is one line with the failure, the URL, the attempts, the phase, the elapsed time
/// and the cause. It never contains header values, bodies, or query values and parts of paths that the client's
/// ``HTTPClient/Configuration/redaction`` hides, and `dump` shows no more than the description.
public struct HTTPError: LocalizedError, Sendable, CustomStringConvertible {
  /// A phase of an exchange.
  @nonexhaustive public enum Phase: String, Sendable, Hashable {
    /// Waiting for a connection slot.
    case queued
    /// Resolving the host name, connecting, or performing the TLS handshake.
    case connecting
    /// Sending the request.
    case sending
    /// Waiting for the head of the response.
    case waiting
    /// Receiving the body.
    case receiving
    /// Pausing before another attempt.
    case pausing
  }

  /// The kind of failure.
  public var kind: Kind

  /// The cause, on one line.
  public var message: String

  /// The method of the request that failed.
  public var method: HTTPMethod?

  /// The URL without credentials or fragment, safe to log.
  ///
  /// Query values and paths are masked according to the client's ``HTTPClient/Configuration/redaction``. If the error
  /// does not come from a client, all of them are masked.
  public var redactedURL: String?

  /// The URL of the request without credentials, or `nil` if it is invalid.
  ///
  /// It includes query values: use ``redactedURL`` for logs.
  public var url: URL?

  /// The response of a failure that has one, such as ``Kind/status``.
  ///
  /// Its body is kept up to ``RequestOptions/maximumErrorBodyBytes``; ``HTTPResponse/isBodyTruncated`` reports whether
  /// it was longer.
  public var response: HTTPResponse?

  /// The attempts made, including the last one.
  public var attempts: [HTTPResponse.Attempt] = []

  /// The last decisions about the request, with their reasons.
  ///
  /// Up to 256 with ``RequestOptions/explains``; otherwise up to 32 of those that go beyond sending a request once.
  public internal(set) var explanation = Explanation()

  /// The phase of the last attempt.
  public var phase: Phase?

  /// The time from the start of the call to this error.
  public var elapsed: Duration?

  /// The deadline that ended the request, or `nil` if it was another limit.
  public internal(set) var deadline: Deadline?

  /// The underlying error, if another library reported one.
  public var underlying: (any Error)?

  /// The HTTP/2 error code (RFC 9113 §7) with which the server reset the stream or ended the connection.
  ///
  /// `nil` if it did neither, if it ended the connection without an error, or if the transport does not report it.
  public package(set) var http2ErrorCode: UInt32?

  /// Whether the request was certainly not processed by a server.
  ///
  /// It was not sent, or the server reported that it had not processed it (RFC 9113 §8.7). Such a request can be sent
  /// again, whatever its method.
  public var wasNotProcessed: Bool { !mayHaveReachedServer }

  /// The kinds of errors before anything is sent.
  private static let unsent: [Kind] = [
    .cannotConnect, .invalidRequest, .fileFailed, .downloadInProgress, .refusedByGuard, .overloaded, .circuitOpen,
    .dataBudgetExceeded,
  ]

  /// Whether a server may have received bytes of the request.
  ///
  /// It decides whether a retry is safe.
  package var mayHaveReachedServer = false

  /// Whether a connection that may have been reused failed before any response byte.
  package var mayBeStaleConnection = false
  /// Whether the process or the system ran out of descriptors or memory.
  ///
  /// This condition is temporary.
  package var isExhaustion = false
  /// Whether an earlier response in the same attempt requested credentials.
  var followsAnswer = false
  /// Whether the server has declared that it did not process the request (RFC 9113 §8.7).
  var wasRefusedUnread: Bool { mayBeStaleConnection && !mayHaveReachedServer }
  /// The error code HTTP_1_1_REQUIRED (RFC 9113 §7).
  static let http11Required: UInt32 = 13
  /// The error code ENHANCE_YOUR_CALM (RFC 9113 §7).
  static let enhanceYourCalm: UInt32 = 11
  /// Whether the server requires HTTP/1.1 and has not processed the request.
  var wantsHTTP11: Bool { http2ErrorCode == HTTPError.http11Required && !mayHaveReachedServer }

  /// Creates an error, for transports and stubs.
  ///
  /// - Parameters:
  ///   - kind: The kind.
  ///   - message: The cause, on one line.
  ///   - phase: The phase that the exchange had reached.
  ///   - underlying: The underlying error.
  @inline(never)
  public init(_ kind: Kind, _ message: String, phase: Phase? = nil, underlying: (any Error)? = nil) {
    self.kind = kind
    self.message = message
    self.phase = phase
    self.underlying = underlying
    mayHaveReachedServer = !Self.unsent.contains(kind)
    mayBeStaleConnection = kind == .connectionLost
  }

  @inline(never) init(
    _ kind: Kind, _ message: String, request: HTTPRequest, response: HTTPResponse? = nil,
    underlying: (any Error)? = nil
  ) {
    self.init(kind, message, underlying: underlying)
    describe(request)
    self.response = response
    if let response { attempts = response.attempts }
  }

  /// The status of the response, if there is one.
  public var status: HTTPStatus? { response?.status }

  /// Whether the network is the likely cause: no connection, or a lost one.
  public var isConnectivity: Bool { kind == .cannotConnect || kind == .connectionLost }

  /// Whether a time limit ended the call.
  public var isTimeout: Bool { kind == .timedOut }

  /// Whether a load limit of the client refused the request.
  var isLoadLimit: Bool { kind == .overloaded || kind == .circuitOpen }

  /// Whether the same request might succeed later.
  ///
  /// True for connectivity failures, timeouts, load limits, files for which no descriptor or memory was left, and the
  /// statuses 408, 425, 429, 500, 502, 503 and 504.
  public var isTransient: Bool {
    isConnectivity || isTimeout || isLoadLimit || isExhaustion || (status?.isTransient ?? false)
  }

  /// Decodes the response body as JSON, for APIs that describe errors in it.
  ///
  /// - Parameter type: The type to decode.
  /// - Returns: The value, or `nil` if there is no response or its body cannot be decoded.
  public func decoded<T: Decodable>(as type: T.Type) -> T? {
    try? response?.json(type)
  }

  /// The maximum number of Unicode scalars of the URL and of the message in a description.
  private static let longestText = 2_000

  /// A single line with kind, method, URL, cause, phase, attempts and elapsed time.
  ///
  /// The URL and the message are truncated after 2,000 Unicode scalars each, which an ellipsis shows. If the request
  /// should have been retried, the line also states why it was not.
  public var description: String {
    var line = "\(kind)"
    if let method { line += ": \(InvalidInput.printable(method.rawValue))" }
    // The URL and the message may contain external text: a transport quotes its peer.
    if let redactedURL { line += " \(InvalidInput.printable(redactedURL, limit: Self.longestText))" }
    line += ": \(InvalidInput.printable(message, limit: Self.longestText))"
    var notes: [String] = []
    if let response, response.isBodyTruncated { notes.append("body truncated after \(response.body.count) bytes") }
    if let phase { notes.append("while \(phase.rawValue)") }
    if attempts.count > 1 { notes.append("after \(attempts.count) attempts") }
    if let elapsed { notes.append(elapsed.shown) }
    if !notes.isEmpty { line += " (\(notes.joined(separator: ", ")))" }
    if let refusal = attempts.last?.retryRefusal {
      line += "; not repeated: \(InvalidInput.printable(refusal.description, limit: Self.longestText))"
    }
    return line
  }

  /// The ``description``, which is also the `localizedDescription`.
  public var errorDescription: String? { description }

  @inline(never) mutating func describe(_ request: HTTPRequest) {
    guard method == nil else { return }
    method = request.method
    let resolved = request.absoluteURL
    redactedURL = resolved?.redacted ?? request.target.description
    url = resolved?.url
  }

  func described(_ request: HTTPRequest) -> HTTPError {
    var error = self
    error.describe(request)
    return error
  }

  /// Redacts the message and the URL with the client's rules, except for a `redactedURL` that was set explicitly.
  mutating func redact(_ redaction: Redaction) {
    message = redaction.text(message)
    guard let url, let parsed = try? AbsoluteURL.parse(url.absoluteString), redactedURL == parsed.redacted else {
      return
    }
    redactedURL = redaction.text(of: parsed)
  }

  /// The message for an exceeded time limit.
  static func passedLimit(_ name: String, _ limit: Duration) -> String {
    "the \(name) limit of \(limit.shown) was exceeded"
  }

  /// Creates the error of a failed file operation, with the system's error text.
  ///
  /// - Parameters:
  ///   - message: The operation that failed, on one line.
  ///   - code: The system's error number (`errno`); the error is transient if no descriptor or memory was left.
  /// - Returns: The error, of kind ``HTTPError/Kind/fileFailed``.
  public static func file(_ message: String, code: Int32) -> HTTPError {
    let failure = DiskCalls.Failure(code: code)
    var error = HTTPError(.fileFailed, "\(message): \(failure.text)")
    error.isExhaustion = failure.isExhaustion
    return error
  }
}
