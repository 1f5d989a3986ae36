/// Middleware that logs requests and responses.
///
/// ```swift
/// let client = HTTPClient { $0.middleware = [LoggingMiddleware(.headers)] }
/// ```
///
/// In `Configuration.middleware` it logs each call, in `Configuration.exchangeMiddleware` each exchange: every
/// redirect, repetition and answer to a challenge, with the fields that other stages have added. Each line begins with
/// the number of the call, the number of redirects before the exchange, and the number of the attempt. The mark after
/// them shows what follows:
///
/// ```text
/// 7-0-1 > POST https://api.example.com/users?token=*** (14 bytes)
/// 7-0-1 > Authorization: ***
/// 7-0-1 >| {"name":"Ada"}
/// 7-0-1 < 201 Created in 12.5 ms
/// 7-0-1 < Content-Type: application/json
/// 7-0-1 <| {"id":1}
/// 7-0-1 = 8 bytes in 13.0 ms
/// ```
///
/// | Mark | Meaning |
/// |---|---|
/// | `>` `<` | a request and its header fields, a response and its header fields |
/// | `>\|` `<\|` | the beginning of a body |
/// | `=` | the end of the response's body, or the place where its reader stopped |
/// | `*` | a connection, a challenge, a credential, or a wait for bandwidth |
/// | `!` | an error, or a cancellation |
///
/// Text from a server cannot leave its line: control characters, escape sequences, characters that change the direction
/// of text and octets that are not UTF-8 are shown as `\n`, `\u{1b}` or `\x80`. A `\` stands for itself.
///
/// Bodies are logged as they are read: the log neither reads them itself nor keeps more than the limit in
/// ``init(_:redaction:maximumBodyBytes:to:)``. Request bodies that are streams or files are not read for the log. No
/// request waits for the log or fails because of it.
public struct LoggingMiddleware: Middleware, AbortAwareMiddleware {
  /// The parts of an exchange to log.
  public struct Detail: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: Int

    /// Creates a set from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Each request, response, end, error and cancellation.
    public static let lifecycle = Detail(rawValue: 1)
    /// The connection of each response: whether it is new, its address, and its setup time.
    ///
    /// Logged as far as the transport reports it. Use it in `Configuration.exchangeMiddleware` to see each exchange.
    public static let connection = Detail(rawValue: 4)
    /// The schemes that a server offers, and the one that a request uses; never a credential.
    ///
    /// Use it in `Configuration.exchangeMiddleware`: in `Configuration.middleware`, requests have no credentials yet.
    public static let auth = Detail(rawValue: 8)
    /// The beginning of bodies that are text, and the length of others.
    public static let body = Detail(rawValue: 16)
    /// The time that ``HTTPClient/Configuration/bandwidth`` delayed a request, logged at its end.
    public static let throttle = Detail(rawValue: 32)

    /// One line for each request, one for each response, and one for its end.
    public static let summary = lifecycle
    /// The summary and all header fields.
    public static let headers = Detail(rawValue: 3)
    /// The summary, all header fields and the beginning of bodies.
    public static let bodies: Detail = [.headers, .body]
  }

  let detail: Detail
  let redaction: Redaction?
  let maximumBodyBytes: Int
  /// The destination of the lines.
  public let sink: LogSink

  /// Creates a logging middleware.
  ///
  /// - Parameters:
  ///   - detail: The parts of an exchange to log; a summary by default.
  ///   - redaction: The secrets to mask; by default ``HTTPClient/Configuration/redaction``.
  ///   - maximumBodyBytes: The maximum number of body bytes to log; 4 KiB by default, at most 1 MiB.
  ///   - sink: The destination of the lines; standard error by default.
  public init(
    _ detail: Detail = .summary, redaction: Redaction? = nil, maximumBodyBytes: Int = 4 << 10,
    to sink: LogSink = .standardError
  ) {
    self.detail = detail
    self.redaction = redaction
    self.maximumBodyBytes = min(max(0, maximumBodyBytes), 1 << 20)
    self.sink = sink
  }

  /// Logs a request and its outcome.
  public func intercept(
    _ request: HTTPRequest, context: RequestContext,
    next: MiddlewareNext
  ) async throws -> StreamedResponse {
    let log = ExchangeLog(self, context)
    log.sends(request)
    do {
      var response = try await next(request)
      log.received(response)
      response.body = response.body.watched(by: BodyWatch(log, response.headers))
      return response
    } catch {
      log.wasThrottled()
      log.failed(error)
      throw error
    }
  }
}
