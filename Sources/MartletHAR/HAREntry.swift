public import Martlet
public import MartletBase

/// An entry of a HAR file: a request, its response and their timings (HTTP Archive 1.2).
///
/// Members of the file whose names begin with an underscore are Martlet's own, such as `_explanation`.
public struct HAREntry: Sendable {
  /// A body, or its beginning.
  public struct Body: Sendable, Hashable {
    /// The content of a body.
    @frozen public enum Content: Sendable, Hashable {
      /// Text.
      case text(String)
      /// Bytes.
      case bytes(Data)
      /// Not recorded.
      case none
      /// A file with the bytes, relative to the HAR file's folder.
      ///
      /// The path is untrusted: check it before you read the file.
      case file(String)
    }

    /// The media type, or an empty text.
    public var mimeType: String
    /// The content.
    public var content: Content
    /// The number of bytes of the whole body, decoded.
    public var size: Int64
    /// Whether ``content`` is the whole body.
    public var isWhole = true
    /// The reason why the content is missing or truncated.
    public var comment: String?
  }

  /// A request.
  public struct Request: Sendable {
    /// The method.
    public var method: String
    /// The URL.
    public var url: String
    /// The version, such as `HTTP/2`, or an empty text.
    public var httpVersion = ""
    /// The header fields.
    public var headers: HTTPHeaders = [:]
    /// The body, or `nil`.
    public var body: Body?
    /// The number of sent body bytes, or -1 if unknown.
    public var bodySize: Int64 = -1
  }

  /// A response.
  public struct Response: Sendable {
    /// The status; 0 without a response.
    public var status: Int
    /// The reason phrase.
    public var statusText = ""
    /// The version, such as `HTTP/2`, or an empty text.
    public var httpVersion = ""
    /// The header fields.
    public var headers: HTTPHeaders = [:]
    /// The trailer fields, if they are recorded.
    public var trailers: HTTPHeaders = [:]
    /// The body, or `nil`.
    public var body: Body?
    /// The number of received body bytes, or -1 if unknown.
    ///
    /// They are counted before decoding.
    public var bodySize: Int64 = -1
  }

  /// The durations of the phases, which follow each other; `nil` if a phase does not apply.
  public struct Timings: Sendable, Hashable {
    /// The wait for a connection.
    public var blocked: Duration?
    /// The resolution of the host name.
    public var dns: Duration?
    /// The connection, including ``ssl``.
    public var connect: Duration?
    /// The TLS handshake.
    public var ssl: Duration?
    /// The sending of the request.
    public var send = Duration.zero
    /// The wait for the response.
    public var wait = Duration.zero
    /// The reception of the body.
    public var receive = Duration.zero

    /// Creates timings without any duration.
    public init() {}

    /// The phases that follow each other.
    private var parts: [Duration] { [blocked, dns, connect, send, wait, receive].compactMap(\.self) }

    /// The sum of the phases.
    public var total: Duration { parts.reduce(.zero) { $0.adding($1) } }

    /// The sum of the phases as written, each in whole microseconds.
    var writtenTotal: Duration { parts.reduce(.zero) { $0 + .microseconds($1.wholeMicroseconds) } }
  }

  /// The time at which the exchange began.
  public var startedAt: Date
  /// The request.
  public var request: Request
  /// The response.
  public var response: Response
  /// The durations of the phases.
  public var timings = Timings()
  /// The address of the server, or `nil`.
  public var remoteAddress: String?
  /// An identifier of the connection, or `nil`.
  public var connection: String?
  /// The reason why the response is missing or incomplete.
  public var failure: String?
  /// The client's decisions, in sentences.
  public var explanation: [String] = []
  /// The codes of these decisions (`Explanation.Code`).
  public var codes: [String] = []
  /// The number of the call, which several entries may share.
  public var call: String?
  /// The number of the attempt, from 1.
  public var attempt = 1
  /// The number of redirects that were followed before.
  public var hop = 0
  /// The tag of the request, or `nil`.
  public var tag: String?
  /// Whether a stored response was used without an exchange.
  public var isFromCache = false
  /// The messages of a WebSocket, in order; `nil` if the exchange did not open one.
  public var webSocketMessages: [WebSocketMessage]?
  /// The number of further messages, which were not recorded.
  public var omittedMessageCount = 0
}
