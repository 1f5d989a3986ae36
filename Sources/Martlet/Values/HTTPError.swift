public import Foundation

/// The error of a failed call; cancellation is `CancellationError`.
///
/// One type, so that one `catch` does; ``kind`` tells apart what a caller could act on differently. The description is
/// one line with what, where, attempt, phase, elapsed time and cause, and it never holds header values, bodies, or
/// query values that the client's ``HTTPClient/Configuration/redaction`` hides. `dump` shows no more than that.
public struct HTTPError: LocalizedError, Sendable, CustomStringConvertible {
  /// A phase of an exchange.
  public enum Phase: String, Sendable, Hashable {
    /// Waiting for a connection slot.
    case queued
    /// Looking up the name, connecting, or in the TLS handshake.
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

  /// The cause, in one line.
  public var message: String

  /// The method of the request that failed.
  public var method: HTTPMethod?

  /// The URL without credentials and fragment, fit for a log.
  ///
  /// Query values are masked as ``HTTPClient/Configuration/redaction`` says; all of them in an error that no client
  /// threw.
  public var redactedURL: String?

  /// Its URL without credentials, or `nil` if there is no valid one.
  ///
  /// Query values are in it: use ``redactedURL`` for logs.
  public var url: URL?

  /// The response, for ``Kind/status`` and other failures that came with one; its body is kept up to
  /// ``RequestOptions/maximumErrorBodyBytes``, and ``HTTPResponse/isBodyTruncated`` tells whether that was less than all.
  public var response: HTTPResponse?

  /// The attempts made, this one included.
  public var attempts: [HTTPResponse.Attempt] = []

  /// The phase of the last attempt.
  public var phase: Phase?

  /// The time from the start of the call to this error.
  public var elapsed: Duration?

  /// The error underneath, if another library reported it.
  public var underlying: (any Error)?

  /// The HTTP/2 error code (RFC 9113 §7) with which the server reset the stream or ended the connection.
  ///
  /// `nil` if it did neither, ended the connection without an error, or the transport does not tell.
  public package(set) var http2ErrorCode: UInt32?

  /// Whether no server can have processed the request: it was not sent, or the server has said so (RFC 9113 §8.7).
  ///
  /// Such a request can be sent again whatever its method is.
  public var wasNotProcessed: Bool { !mayHaveReachedServer }

  /// Whether bytes of the request may have reached a server: it decides whether a retry is safe.
  package var mayHaveReachedServer = false

  /// Whether nothing of a response had come on a connection that had, or may have, served before.
  package var mayBeStaleConnection = false
  /// Whether the process or the system had no descriptor or no memory left, which passes.
  package var isExhaustion = false
  /// Whether the same attempt had an answer before, which asked for credentials.
  var followsAnswer = false
  /// Whether the server has said that it has not processed the request (RFC 9113 §8.7).
  var wasRefusedUnread: Bool { mayBeStaleConnection && !mayHaveReachedServer }
  /// HTTP_1_1_REQUIRED (RFC 9113 §7).
  static let http11Required: UInt32 = 13
  /// Whether the server wants the request by HTTP/1.1, and has not processed it.
  var wantsHTTP11: Bool { http2ErrorCode == HTTPError.http11Required && !mayHaveReachedServer }

  /// Creates an error, for transports and stubs.
  ///
  /// - Parameters:
  ///   - kind: The kind.
  ///   - message: The cause, in one line.
  ///   - phase: How far the exchange had come.
  ///   - underlying: The error underneath.
  public init(_ kind: Kind, _ message: String, phase: Phase? = nil, underlying: (any Error)? = nil) {
    self.kind = kind
    self.message = message
    self.phase = phase
    self.underlying = underlying
    mayHaveReachedServer = ![.cannotConnect, .invalidRequest, .file, .downloadInProgress, .refusedByGuard].contains(
      kind)
    mayBeStaleConnection = kind == .connectionLost
  }

  init(
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

  /// Whether a time limit ended it.
  public var isTimeout: Bool { kind == .timedOut }

  /// Whether the same request might succeed later: connectivity, a timeout, no descriptor or memory left for a file,
  /// or a status of 408, 425, 429, 500, 502, 503 or 504.
  public var isTransient: Bool {
    isConnectivity || isTimeout || isExhaustion || (status.map(RetryPolicy.isTransient) ?? false)
  }

  /// Decodes the body of the response as JSON, as APIs describe their errors.
  ///
  /// - Parameter type: The type to decode.
  /// - Returns: The value, or `nil` if there is no response or its body is something else.
  public func decoded<T: Decodable>(as type: T.Type) -> T? {
    try? response?.json(type)
  }

  /// One line: kind, method, URL, cause, phase, attempts, elapsed time, and why it was not repeated if it should have
  /// been.
  public var description: String {
    var line = "\(kind)"
    if let method { line += ": \(InvalidInput.printable(method.rawValue))" }
    // Both may come from elsewhere: a transport quotes its peer.
    if let redactedURL { line += " \(InvalidInput.printable(redactedURL, limit: .max))" }
    line += ": \(InvalidInput.printable(message, limit: .max))"
    var notes: [String] = []
    if let response, response.isBodyTruncated { notes.append("body cut after \(response.body.count) bytes") }
    if let phase { notes.append("while \(phase.rawValue)") }
    if attempts.count > 1 { notes.append("after \(attempts.count) attempts") }
    if let elapsed { notes.append(HTTPError.text(elapsed)) }
    if !notes.isEmpty { line += " (\(notes.joined(separator: ", ")))" }
    if let refusal = attempts.last?.retryRefusal {
      line += "; not repeated: \(InvalidInput.printable(refusal.description, limit: .max))"
    }
    return line
  }

  /// The description: what `localizedDescription` says.
  public var errorDescription: String? { description }

  mutating func describe(_ request: HTTPRequest) {
    guard method == nil else { return }
    method = request.method
    let resolved = try? request.target.resolve(against: nil)
    redactedURL = resolved?.redacted ?? request.target.description
    url = resolved?.url
  }

  /// Shows of the URL what a client shows, unless somebody has set another text.
  mutating func redact(_ redaction: Redaction) {
    guard let url, let parsed = try? AbsoluteURL.parse(url.absoluteString), redactedURL == parsed.redacted else {
      return
    }
    redactedURL = redaction.text(of: parsed)
  }

  /// The message of a time limit that has passed.
  static func passedLimit(_ name: String, _ limit: Duration) -> String {
    "the \(name) limit of \(text(limit)) passed"
  }

  /// The error of a call on a file, with the system's number; transient if there is no descriptor or memory left.
  static func file(_ message: String, code: Int32) -> HTTPError {
    let failure = DiskCalls.Failure(code: code)
    var error = HTTPError(.file, "\(message): \(failure.text)")
    error.isExhaustion = failure.isExhaustion
    return error
  }

  static func text(_ duration: Duration) -> String {
    let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    if seconds < 1 { return "\((seconds * 10_000).rounded() / 10) ms" }
    return "\((seconds * 100).rounded() / 100) s"
  }
}
