public import Foundation

/// A response of a ``MockServer``, as a script of steps.
///
/// Most tests need a predefined response, such as ``ok(_:headers:)`` or ``json(_:status:headers:)``; a test of faults
/// lists the steps itself:
///
/// ```swift
/// let slow = MockResponse.steps([
///   .text("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"), .delay(.seconds(1)), .reset,
/// ])
/// ```
///
/// After the last step the connection stays open for the next request, unless the request or a `Connection: close`
/// field of a ``Message`` ends it (RFC 9112 §9.3).
public struct MockResponse: Sendable {
  /// A header or trailer field.
  public typealias Field = RecordedRequest.Field

  /// One step of a response.
  @nonexhaustive public enum Step: Sendable {
    /// Sends a well-formed response; see ``Message``.
    case message(Message)
    /// Sends these bytes unchanged.
    case bytes(Data)
    /// Sends this text as UTF-8, unchanged.
    case text(String)
    /// Waits.
    case delay(Duration)
    /// Sends bytes in small chunks with pauses between them.
    ///
    /// The first chunk is sent at once.
    case drip(Data, chunk: Int, every: Duration)
    /// Sends the same bytes `count` times, without holding them all in memory.
    case repeating(Data, count: Int)
    /// Echoes each chunk of the request body as it arrives.
    ///
    /// The last chunk follows at the end. For responses that do not wait for the body; see
    /// ``MockResponse/echoWhileReading``.
    case echoChunks
    /// Closes the connection gracefully (FIN); later steps are not played.
    case cut
    /// Resets the connection (RST); later steps are not played.
    case reset
    /// Does nothing more until the client closes or the server stops.
    ///
    /// The close counts in ``MockServer/disconnects``; later steps are not played.
    case hang
    /// Waits until the client closes.
    ///
    /// The close does not count as a disconnect.
    case waitForClose
    /// Opens a WebSocket; see ``MockWebSocket``.
    ///
    /// A request that is not a valid opening handshake gets 400 or 426, with the reason as text, and the next steps are
    /// played. Otherwise later steps are not played.
    case webSocket(MockWebSocket)
  }

  /// A response that is framed for its request when it is sent.
  ///
  /// The body is omitted for `HEAD` and for 1xx, 204 and 304. A `Content-Length` or `Transfer-Encoding` field is kept;
  /// otherwise the right one is added (RFC 9112 §6). No other field is added.
  public struct Message: Sendable {
    /// The content and its framing.
    @nonexhaustive public enum Body: Sendable {
      /// Bytes with a `Content-Length`.
      case data(Data)
      /// Chunks with `Transfer-Encoding: chunked`; empty ones are omitted.
      case chunks([Data], trailers: [Field])
    }

    /// The status code.
    public var status: Int
    /// The fields, in the order of sending.
    public var headers: [Field]
    /// The content.
    public var body: Body
    /// Whether the framing announces more than the body has; see ``MockResponse/thenCut()``.
    var isIncomplete = false

    /// Creates a message.
    public init(status: Int, headers: [Field] = [], body: Body = .data(Data())) {
      self.status = status
      self.headers = headers
      self.body = body
    }
  }

  /// The steps, in order.
  public var steps: [Step]
  /// Whether the body is read before the first step.
  ///
  /// The default is true. With false, the response begins after the head, and the body is read during and after it. A
  /// client that waits for `100 Continue` does not get it, and its connection is closed after the response. A server
  /// created with a closure calls it only after the body; use ``MockServer/Options/earlyAnswer`` there.
  public var readsBody = true
  /// Whether the server stops reading while it responds.
  ///
  /// The default is false. With ``readsBody`` false and an initial ``Step/delay(_:)``, an upload stalls as soon as the
  /// system's buffers are full. A client that disconnects is then noticed late.
  public var pausesReading = false

  var echoes: Bool { steps.contains { if case .echoChunks = $0 { true } else { false } } }

  /// Creates a response from steps.
  public init(steps: [Step]) { self.steps = steps }
}
