public import MartletBase

/// An event of a call, for an ``Instrument``.
///
/// The events of a call begin with ``Kind/began`` and end with ``Kind/ended(_:source:)``. Each
/// ``Kind/attempt(number:hop:)`` has any number of exchanges: none if a stored response was used, several if a
/// challenge was answered. Each exchange has its phases, usually a head, and an end. The end of an exchange may come
/// after the end of its call, if the exchange was cancelled or timed out, or if its body outlives the call. Each
/// additional segment of a segmented download has its own call, and so does a background revalidation. Invalid requests
/// have no events.
public struct InstrumentEvent: Sendable {
  /// The program's request.
  public struct Call: Sendable {
    /// The identifier of the call.
    public let id: RequestID
    /// The request, with its complete URL, and without its body.
    public let request: HTTPRequest
    /// The URL, redacted (``HTTPClient/Configuration/redaction``).
    public let redactedURL: String
    /// The tag of the request.
    public let tag: String?
    /// The name of the endpoint's type, or `nil`.
    public let endpoint: String?
    /// The trace of the task that began the call, or `nil`.
    public let trace: TraceContext?
    /// The time at which the call began.
    public let date: Date
    /// The redaction with which the client masks logs (``HTTPClient/Configuration/redaction``).
    public let redaction: Redaction
  }

  /// A request and its response on the wire.
  public struct Exchange: Sendable {
    /// The call.
    public let call: Call
    /// The number of the exchange, from 1 in each call.
    public let number: Int
    /// The number of the attempt, from 1 for each hop.
    public let attempt: Int
    /// The number of redirects that were followed before.
    public let hop: Int
    /// The request as sent, without its body.
    ///
    /// It includes the fields that stages and middleware have added. It includes credentials and cookies: redact it
    /// before showing it.
    public let request: HTTPRequest
    /// The URL of the request, redacted.
    public let redactedURL: String
  }

  /// The head of a response.
  public struct Head: Sendable {
    /// The status.
    public let status: HTTPStatus
    /// The header fields; redact them before showing them.
    public let headers: HTTPHeaders
    /// The reason phrase, or `nil`.
    public let reasonPhrase: String?
    /// The version of HTTP, or `nil`.
    public let httpVersion: HTTPVersion?
    /// The connection, or `nil`.
    public let connection: HTTPResponse.Connection?
    /// The durations of the phases until the head.
    public let timing: HTTPResponse.Timing
  }

  /// The beginning of a body, for an instrument with ``Instrument/maximumBodyBytes``.
  public struct Body: Sendable {
    /// The first bytes; may contain secrets.
    public let data: Data
    /// Whether `data` is the whole body.
    public let isWhole: Bool
    /// The number of bytes of the body; for a response, of those that were read, after decoding.
    public let count: Int64
  }

  /// A message on a connection that has changed to another protocol, such as a WebSocket's.
  public struct Message: Sendable {
    /// The direction of a message.
    @frozen public enum Direction: Sendable, Hashable {
      /// From the client to the server.
      case sent
      /// From the server to the client.
      case received
    }

    /// The kind of a message.
    @nonexhaustive public enum Kind: Sendable, Hashable {
      /// UTF-8 text.
      case text
      /// Bytes.
      case binary
      /// The close frame of a WebSocket: a code in two bytes and a reason, or nothing (RFC 6455 §5.5.1).
      case close
    }

    /// The direction.
    public let direction: Direction
    /// The kind.
    public let kind: Kind
    /// The content, as for a body; without ``Instrument/maximumBodyBytes``, only its size.
    public let body: Body

    /// Creates a message with its whole content.
    package init(_ direction: Direction, _ kind: Kind, _ data: Data) {
      let body = Body(data: data, isWhole: true, count: Int64(data.count))
      self.init(direction: direction, kind: kind, body: body)
    }

    init(direction: Direction, kind: Kind, body: Body) {
      (self.direction, self.kind, self.body) = (direction, kind, body)
    }
  }

  /// The end of an exchange.
  public struct Summary: Sendable {
    /// The bytes of the request body that were sent.
    public let sentBytes: Int64
    /// The bytes of the response body that were received: before decoding on the Linux engine, decoded with the
    /// system's loader.
    public let receivedBytes: Int64
    /// The phase in which the exchange ended; ``HTTPError/Phase/receiving`` after a head.
    public let phase: HTTPError.Phase
    /// The kind of the error that ended the exchange or its body; `nil` if there was none, or not an ``HTTPError``.
    public let failure: HTTPError.Kind?
    /// The time since the start of the exchange.
    public let duration: Duration
    /// The body of the request; `nil` without a body, for a stream or a file, and for a body that is compressed while
    /// it is sent.
    public let sentBody: Body?
    /// The body of the response as the program reads it.
    ///
    /// It is `nil` without a response, and on a connection that has changed to another protocol.
    public let receivedBody: Body?
    /// The version of HTTP, if the transport reports it only at the end; `nil` if ``Head/httpVersion`` has it.
    ///
    /// On Apple platforms, the system's loader reports the version, the connection and the times at the end.
    public let httpVersion: HTTPVersion?
    /// The connection, if the transport reports it only at the end.
    public let connection: HTTPResponse.Connection?
    /// The durations of the phases, if the transport reports them only at the end.
    public let timing: HTTPResponse.Timing?
  }

  /// The kind of an event.
  @nonexhaustive public enum Kind: Sendable {
    /// The call began.
    case began
    /// An attempt began.
    case attempt(number: Int, hop: Int)
    /// An exchange is about to be sent.
    indirect case exchangeBegan(Exchange)
    /// An exchange entered a phase.
    case phase(HTTPError.Phase, exchange: Int)
    /// An informational response arrived before the head, such as 103 (Early Hints); redact its fields before showing
    /// them.
    ///
    /// Only the Linux engine reports them, except 100 and 101: up to 64 for each exchange, with at most 16 KiB of fields.
    indirect case informational(HTTPResponse.Informational, exchange: Int)
    /// The head of a response arrived.
    indirect case head(Head, exchange: Int)
    /// A message was sent or received on an upgraded connection, whose protocol reports messages.
    indirect case message(Message, exchange: Int)
    /// A decision was made.
    indirect case decision(Explanation.Entry)
    /// The body of an exchange ended or was released, or the exchange failed.
    indirect case exchangeEnded(Summary, exchange: Int)
    /// The call ended; the source of its response is `nil` without a response.
    indirect case ended(RequestEvent.End, source: HTTPResponse.Source?)
  }

  /// The call to which the event belongs.
  public var call: Call { shown.value }
  /// Boxed, because all events of a call share it.
  let shown: Boxed<Call>
  /// The time since the start of the call.
  public let time: Duration
  /// The kind of the event.
  public let kind: Kind
  /// The number of events that were dropped before this one.
  ///
  /// Events of the client are dropped when instruments are too slow.
  public internal(set) var droppedCount = 0
}

extension InstrumentEvent {
  /// The event's attributes, according to OpenTelemetry's semantic conventions for HTTP clients.
  ///
  /// | Event | Attributes |
  /// |---|---|
  /// | the beginning and the end of a call | `http.request.method`, `url.full` (redacted), `server.address`, `server.port` |
  /// | an exchange | the same for the exchange; `http.request.resend_count` if it is not the first one |
  /// | a head | `http.response.status_code`, `network.protocol.name`, `network.protocol.version`, `network.peer.address`, `network.peer.port`; `error.type` for a status of 400 or more |
  /// | the end of an exchange | `error.type` if it failed: the kind of the error; the version and the peer, if they are only known then |
  /// | the end of a call | also `http.response.status_code`; `error.type` if it failed: the kind of the error, or the status |
  ///
  /// An unusual method is `_OTHER`, with the `http.request.method_original`.
  public var attributes: [String: JSONValue] {
    var attributes: [String: JSONValue] = [:]
    switch kind {
    case .attempt, .phase, .informational, .message, .decision: break
    case .began: attributes.describe(call.request, call.redactedURL)
    case .exchangeBegan(let exchange):
      attributes.describe(exchange.request, exchange.redactedURL)
      if exchange.number > 1 { attributes["http.request.resend_count"] = .integer(exchange.number - 1) }
    case .head(let head, _):
      attributes.describe(head.status)
      attributes.describe(head.httpVersion, head.connection)
    case .exchangeEnded(let summary, _):
      if let failure = summary.failure { attributes["error.type"] = .string(failure.description) }
      attributes.describe(summary.httpVersion, summary.connection)
    case .ended(let end, _):
      attributes.describe(call.request, call.redactedURL)
      attributes.describe(end)
    }
    return attributes
  }
}

/// The methods in OpenTelemetry's list; other methods could have any number of values.
private let usualMethods: Set<HTTPMethod> = [
  "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE",
]

extension [String: JSONValue] {
  fileprivate mutating func describe(_ version: HTTPVersion?, _ connection: HTTPResponse.Connection?) {
    if let version {
      self["network.protocol.name"] = "http"
      self["network.protocol.version"] = .string(version.description)
    }
    if let address = connection?.remoteAddress { self["network.peer.address"] = .string(address) }
    if let port = connection?.remotePort { self["network.peer.port"] = .integer(port) }
  }

  fileprivate mutating func describe(_ request: HTTPRequest, _ redactedURL: String) {
    let isUsual = usualMethods.contains(request.method)
    self["http.request.method"] = .string(isUsual ? request.method.rawValue : "_OTHER")
    if !isUsual { self["http.request.method_original"] = .string(request.method.rawValue) }
    self["url.full"] = .string(redactedURL)
    guard let url = request.absoluteURL else { return }
    let isIPv6 = url.host.hasPrefix("[") && url.host.hasSuffix("]")
    self["server.address"] = .string(isIPv6 ? String(url.host.dropFirst().dropLast()) : url.host)
    self["server.port"] = .integer(url.effectivePort)
  }

  fileprivate mutating func describe(_ status: HTTPStatus) {
    self["http.response.status_code"] = .integer(status.rawValue)
    if status.rawValue >= 400 { self["error.type"] = .string("\(status.rawValue)") }
  }

  fileprivate mutating func describe(_ end: RequestEvent.End) {
    switch end {
    case .succeeded(let status): describe(status)
    case .cancelled: self["error.type"] = "cancelled"
    case .failed(let error):
      let error = error as? HTTPError
      if let status = error?.status { describe(status) }
      if let error, error.kind != .status { self["error.type"] = .string(error.kind.description) }
      if error == nil { self["error.type"] = "_OTHER" }
    }
  }
}
