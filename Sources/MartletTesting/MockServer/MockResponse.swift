public import Foundation

/// An answer of a ``MockServer``, as a script of steps.
///
/// Most tests need one of the ready answers, such as ``ok(_:headers:)`` or ``json(_:status:headers:)``; a test of
/// faults lists the steps itself:
///
/// ```swift
/// let slow = MockResponse.steps([
///   .text("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"), .delay(.seconds(1)), .reset,
/// ])
/// ```
///
/// After the last step the connection stays open for the next request, unless the request or a `Connection: close`
/// field of a ``Message`` asks for its end (RFC 9112 §9.3).
public struct MockResponse: Sendable {
  /// A header or trailer field.
  public typealias Field = RecordedRequest.Field

  /// One thing a server does while it answers.
  public enum Step: Sendable {
    /// Sends a well-formed response; see ``Message``.
    case message(Message)
    /// Sends these bytes as they are.
    case bytes(Data)
    /// Sends this text as UTF-8, as it is.
    case text(String)
    /// Waits.
    case delay(Duration)
    /// Sends bytes in small pieces, the first at once, with a pause between them.
    case drip(Data, chunk: Int, every: Duration)
    /// Sends the same bytes `count` times, without holding them all in memory.
    case repeating(Data, count: Int)
    /// Sends each piece of the request body back as a chunk as soon as it has come, and the last chunk at its end.
    ///
    /// For answers that do not wait for the body; see ``MockResponse/echoWhileReading``.
    case echoChunks
    /// Closes the connection in order (FIN); later steps are not played.
    case cut
    /// Resets the connection (RST); later steps are not played.
    case reset
    /// Does nothing more until the client closes or the server stops.
    ///
    /// The close counts in ``MockServer/disconnects``; later steps are not played.
    case hang
    /// Waits until the client closes, which then does not count as a disconnect.
    case waitForClose
  }

  /// A response that is framed for its request when it is sent.
  ///
  /// The body is left out for `HEAD` and for 1xx, 204 and 304; a `Content-Length` or `Transfer-Encoding` among the
  /// fields is kept as it is, otherwise the right one is added (RFC 9112 §6). No other field is added.
  public struct Message: Sendable {
    /// The content and how its end is marked.
    public enum Body: Sendable {
      /// Bytes with a `Content-Length`.
      case data(Data)
      /// Pieces with `Transfer-Encoding: chunked`; empty ones are left out.
      case chunks([Data], trailers: [Field])
    }

    /// The status code.
    public var status: Int
    /// The fields in the order they are sent.
    public var headers: [Field]
    /// The content.
    public var body: Body
    /// Whether the framing promises more than the body has; see ``MockResponse/thenCut()``.
    var isIncomplete = false

    /// Creates a message.
    public init(status: Int, headers: [Field] = [], body: Body = .data(Data())) {
      self.status = status
      self.headers = headers
      self.body = body
    }
  }

  /// What the server does, in order.
  public var steps: [Step]
  /// Whether the request body is read to its end before the first step.
  ///
  /// The default is true. With false the answer begins after the head, and the body is read meanwhile and after it; a
  /// client that waits for `100 Continue` does not get it, and its connection is closed after the answer. A server
  /// made with a closure asks that closure only after the body; use ``MockServer/Options/earlyAnswer`` there.
  public var readsBody = true
  /// Whether the server stops receiving while it answers.
  ///
  /// The default is false. Together with ``readsBody`` false and a first ``Step/delay(_:)``, an upload stalls as soon as
  /// the buffers of the system are full. A client that goes away is then noticed late.
  public var pausesReading = false

  var echoes: Bool { steps.contains { if case .echoChunks = $0 { true } else { false } } }

  /// Creates an answer from steps.
  public init(steps: [Step]) {
    self.steps = steps
  }
}
