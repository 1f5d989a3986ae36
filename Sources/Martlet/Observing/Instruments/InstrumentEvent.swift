/// An event in the life of a request, for an ``Instrument``.
///
/// The events of a call begin with ``Kind/began`` and end with ``Kind/ended(_:)``. Each ``Kind/attempt(number:hop:)`` has
/// no, one or several exchanges: none if a stored response was used, several if a challenge was answered. Each exchange
/// has its phases, usually a head, and an end, which may come after the end of a cancelled call.
public struct InstrumentEvent: Sendable {
  /// The request of the program.
  public struct Call: Sendable {
    /// The identifier of the call.
    public let id: RequestID
    /// The request, with its complete URL.
    public let request: HTTPRequest
    /// The URL, redacted (``HTTPClient/Configuration/redaction``).
    public let redactedURL: String
    /// The tag of the request.
    public let tag: String?
    /// The name of the endpoint's type, or `nil`.
    public let endpoint: String?
  }

  /// One request and its response on the wire.
  public struct Exchange: Sendable {
    /// The call.
    public let call: Call
    /// The number of the exchange, from 1 in each call.
    public let number: Int
    /// The number of the attempt, from 1 for each request of a redirect chain.
    public let attempt: Int
    /// The number of redirects that were followed before.
    public let hop: Int
    /// The request as it is sent, with everything that stages and middleware added.
    ///
    /// It includes credentials and cookies: redact it before showing it.
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

  /// The end of an exchange.
  public struct Summary: Sendable {
    /// The bytes of the request body that were sent.
    public let sentBytes: Int64
    /// The bytes of the response body that were received, before decoding.
    public let receivedBytes: Int64
    /// The phase in which it ended; ``HTTPError/Phase/receiving`` after a head.
    public let phase: HTTPError.Phase
    /// The time since the start of the exchange.
    public let duration: Duration
  }

  /// What happened.
  public enum Kind: Sendable {
    /// The call began.
    case began
    /// An attempt began.
    case attempt(number: Int, hop: Int)
    /// An exchange is about to be sent.
    case exchangeBegan(Exchange)
    /// An exchange entered a phase.
    case phase(HTTPError.Phase, exchange: Int)
    /// The head of a response arrived.
    case head(Head, exchange: Int)
    /// A decision was made.
    case decision(Explanation.Entry)
    /// The body of an exchange ended or was released, or the exchange failed.
    case exchangeEnded(Summary, exchange: Int)
    /// The call ended.
    case ended(RequestEvent.End)
  }

  /// The call that the event belongs to.
  public let call: Call
  /// The time since the start of the call.
  public let time: Duration
  /// What happened.
  public let kind: Kind
  /// The number of events of the client that were dropped before this one, because instruments were too slow.
  public internal(set) var droppedCount = 0
}

extension InstrumentEvent {
  /// The attributes of the event, by OpenTelemetry's semantic conventions for HTTP clients.
  ///
  /// `http.request.method`, `url.full` (redacted), `server.address` and `server.port` for the call or the exchange;
  /// `http.request.resend_count` for an exchange; `http.response.status_code`, `network.protocol.name`,
  /// `network.protocol.version`, `network.peer.address` and `network.peer.port` for a head; `error.type` for the end of
  /// a call that failed: the kind of the error, or the status.
  public var attributes: [String: JSONValue] {
    var attributes: [String: JSONValue] = [:]
    func describe(_ request: HTTPRequest, _ redactedURL: String) {
      attributes["http.request.method"] = .string(request.method.rawValue)
      attributes["url.full"] = .string(redactedURL)
      guard let url = try? request.target.resolve(against: nil) else { return }
      attributes["server.address"] = .string(url.host)
      attributes["server.port"] = .number(Double(url.effectivePort))
    }
    describe(call.request, call.redactedURL)
    switch kind {
    case .began, .attempt, .phase, .decision, .exchangeEnded: break
    case .exchangeBegan(let exchange):
      describe(exchange.request, exchange.redactedURL)
      if exchange.number > 1 { attributes["http.request.resend_count"] = .number(Double(exchange.number - 1)) }
    case .head(let head, _):
      attributes["http.response.status_code"] = .number(Double(head.status.rawValue))
      if let version = head.httpVersion {
        attributes["network.protocol.name"] = "http"
        attributes["network.protocol.version"] = .string(version.description)
      }
      if let address = head.connection?.remoteAddress { attributes["network.peer.address"] = .string(address) }
      if let port = head.connection?.remotePort { attributes["network.peer.port"] = .number(Double(port)) }
    case .ended(.succeeded(let status)):
      attributes["http.response.status_code"] = .number(Double(status.rawValue))
    case .ended(.cancelled): attributes["error.type"] = "cancelled"
    case .ended(.failed(let error)):
      guard let error = error as? HTTPError else {
        attributes["error.type"] = .string("\(type(of: error))")
        break
      }
      if let status = error.status { attributes["http.response.status_code"] = .number(Double(status.rawValue)) }
      attributes["error.type"] = .string(error.status.map { "\($0.rawValue)" } ?? error.kind.description)
    }
    return attributes
  }
}
