/// Middleware that logs requests and responses.
///
/// ```swift
/// let client = HTTPClient { $0.middleware = [LoggingMiddleware(.headers)] }
/// ```
///
/// In `Configuration.middleware` it shows each call, in `Configuration.attemptMiddleware` each exchange: every
/// redirect, repetition and answer to a challenge, with the fields that other stages have added. The lines of one
/// exchange begin with the number of its call, the redirects before it, and the number of its attempt; the mark after
/// them says what follows:
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
/// | Mark | What |
/// |---|---|
/// | `>` `<` | the request and its header fields, the response and its |
/// | `>\|` `<\|` | the beginning of a body |
/// | `=` | the end of the response's body, or where its reader left it |
/// | `*` | a connection, a challenge, a credential, or a wait for the limit of bandwidth |
/// | `!` | an error, or a cancellation |
///
/// Whatever a server sends stays in its line: control characters, escape sequences, characters that change the
/// direction of text and octets that are no UTF-8 are shown as `\n`, `\u{1b}` or `\x80`. A `\` stands for itself.
///
/// Bodies are watched while they are read, so that nothing is read twice, kept beyond
/// ``init(_:redaction:maximumBodyBytes:to:)``'s limit, or read that nobody wants; the body of a request that is a
/// stream or a file is not touched. No request waits for the log or fails because of it.
public struct LoggingMiddleware: Middleware {
  /// What is logged.
  public struct Detail: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: Int

    /// Makes a set of bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Each request, response, end, error and cancellation.
    public static let lifecycle = Detail(rawValue: 1)
    /// The connection of each response: whether it is new, to which address, and how long that took.
    ///
    /// Only as far as the transport tells it, and only in `Configuration.attemptMiddleware` for each exchange.
    public static let connection = Detail(rawValue: 4)
    /// Which schemes a server asks for, and which one a request answers with; never a credential.
    ///
    /// In `Configuration.attemptMiddleware`: above it, credentials are not in the request yet.
    public static let auth = Detail(rawValue: 8)
    /// The beginning of bodies that are text, and the length of others.
    public static let body = Detail(rawValue: 16)
    /// How long ``HTTPClient/Configuration/bandwidth`` has held a request back, once it is over.
    public static let throttle = Detail(rawValue: 32)

    /// One line for each request, one for each response, and one for its end.
    public static let summary = lifecycle
    /// The summary and all header fields.
    public static let headers = Detail(rawValue: 3)
    /// The summary, all header fields and the beginning of bodies.
    public static let bodies: Detail = [.headers, .body]

    var hasFields: Bool { contains(.headers) }
  }

  let detail: Detail
  let redaction: Redaction?
  let maximumBodyBytes: Int
  /// Where the lines go.
  public let sink: LogSink

  /// Makes a middleware that logs.
  ///
  /// - Parameters:
  ///   - detail: What is logged; a summary by default.
  ///   - redaction: What is hidden; by default what ``HTTPClient/Configuration/redaction`` says.
  ///   - maximumBodyBytes: How much of a body is shown; 4 KiB by default, 1 MiB at most.
  ///   - sink: Where the lines go; standard error by default.
  public init(
    _ detail: Detail = .summary, redaction: Redaction? = nil, maximumBodyBytes: Int = 4 << 10,
    to sink: LogSink = .standardError
  ) {
    self.detail = detail
    self.redaction = redaction
    self.maximumBodyBytes = min(max(0, maximumBodyBytes), 1 << 20)
    self.sink = sink
  }

  /// Logs a request and what comes of it.
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
