import MartletBase
public import Foundation

extension MockResponse {
  /// A response from steps.
  public static func steps(_ steps: [Step]) -> MockResponse { MockResponse(steps: steps) }

  /// 200 with text; `text/plain; charset=utf-8` unless the fields have another type.
  public static func ok(_ text: String = "", headers: KeyValuePairs<String, String> = [:]) -> MockResponse {
    status(200, headers: headers, body: text)
  }

  /// Any status with text.
  ///
  /// Text that is not empty gets `Content-Type: text/plain; charset=utf-8` unless the fields have one.
  public static func status(
    _ status: Int, headers: KeyValuePairs<String, String> = [:], body: String = ""
  ) -> MockResponse {
    var fields = list(headers)
    if !body.isEmpty { fields.addContentType("text/plain; charset=utf-8") }
    return MockResponse(steps: [.message(Message(status: status, headers: fields, body: .data(Data(body.utf8))))])
  }

  /// Any status with bytes; no `Content-Type` is added.
  public static func data(
    _ data: Data, status: Int = 200, headers: KeyValuePairs<String, String> = [:]
  ) -> MockResponse {
    MockResponse(steps: [.message(Message(status: status, headers: list(headers), body: .data(data)))])
  }

  /// JSON text, sent unchanged with `Content-Type: application/json`.
  public static func json(
    _ text: String, status: Int = 200, headers: KeyValuePairs<String, String> = [:]
  ) -> MockResponse {
    var fields = list(headers)
    fields.addContentType("application/json")
    return MockResponse(steps: [.message(Message(status: status, headers: fields, body: .data(Data(text.utf8))))])
  }

  /// Exactly these bytes; then closes the connection unless `thenClose` is false.
  public static func raw(_ text: String, thenClose: Bool = true) -> MockResponse {
    MockResponse(steps: thenClose ? [.text(text), .cut] : [.text(text)])
  }

  /// 200 in chunks, with trailer fields (RFC 9112 §7.1).
  public static func chunked(
    _ chunks: [String], headers: KeyValuePairs<String, String> = [:], trailers: KeyValuePairs<String, String> = [:]
  ) -> MockResponse {
    let body = Message.Body.chunks(chunks.map { Data($0.utf8) }, trailers: list(trailers))
    return MockResponse(steps: [.message(Message(status: 200, headers: list(headers), body: body))])
  }

  /// A status without a body.
  public static func empty(_ status: Int = 204, headers: KeyValuePairs<String, String> = [:]) -> MockResponse {
    MockResponse(steps: [.message(Message(status: status, headers: list(headers)))])
  }

  /// A redirect to a location, which is sent unchanged.
  public static func redirect(
    to location: String, status: Int = 302, headers: KeyValuePairs<String, String> = [:]
  ) -> MockResponse {
    let fields = [Field("Location", location)] + list(headers)
    return MockResponse(steps: [.message(Message(status: status, headers: fields))])
  }

  /// 200 with any number of bytes, generated while they are sent.
  ///
  /// `Content-Length` is right for a `GET`; do not use it to respond to `HEAD`.
  public static func repeating(
    _ pattern: Data, count: Int, headers: KeyValuePairs<String, String> = [:]
  ) -> MockResponse {
    let fields = list(headers) + [Field("Content-Length", String(pattern.count * count))]
    let head = Message(status: 200, headers: fields)
    return MockResponse(steps: [.message(head), .repeating(pattern, count: count)])
  }

  /// No response: the connection stays open until the client or the server closes it.
  public static var hang: MockResponse { MockResponse(steps: [.hang]) }

  /// Echoes the body and its `Content-Type`.
  ///
  /// The method is in `X-Method`, the target in `X-Target`. Usable as a responder: `MockServer(answering:
  /// MockResponse.echo)`.
  @Sendable public static func echo(_ request: RecordedRequest) -> MockResponse {
    var fields = [Field("X-Method", request.method), Field("X-Target", request.target)]
    fields.addContentType(request.header("Content-Type") ?? "application/octet-stream")
    return MockResponse(steps: [.message(Message(status: 200, headers: fields, body: .data(request.body)))])
  }

  /// 200 at once, then each chunk of the request body.
  ///
  /// Chunks are echoed as soon as they arrive. For clients that send and receive at the same time; ``echo(_:)``
  /// responds when the body is complete.
  public static var echoWhileReading: MockResponse {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return steps([.text(head), .echoChunks]).withoutReadingBody()
  }

  /// A WebSocket that plays steps (RFC 6455).
  ///
  /// ```swift
  /// let server = try MockServer(.webSocket([.receive("ping"), .text("pong"), .close]))
  /// ```
  ///
  /// A request that is not a valid opening handshake gets 400 or 426, with the reason as text. The server records its
  /// WebSockets; see ``MockServer/webSockets``.
  ///
  /// - Parameters:
  ///   - steps: The steps, in order. By default, the server only receives.
  ///   - subprotocols: The supported subprotocols. The server selects the client's first offer among them, or none.
  ///   - compression: The parameters of permessage-deflate, or `nil` to refuse it.
  ///   - headers: The additional fields of the handshake's response.
  ///   - handshake: The opening handshake, by default a valid one.
  ///   - sendsPongs: Whether the server responds to pings.
  /// - Returns: The response.
  public static func webSocket(
    _ steps: [MockWebSocket.Step] = [], subprotocols: [String] = [], compression: MockWebSocket.Compression? = nil,
    headers: KeyValuePairs<String, String> = [:], handshake: MockWebSocket.Handshake = .valid, sendsPongs: Bool = true
  ) -> MockResponse {
    var socket = MockWebSocket(steps: steps)
    socket.subprotocols = subprotocols
    socket.compression = compression
    socket.headers = list(headers)
    socket.handshake = handshake
    socket.sendsPongs = sendsPongs
    return MockResponse(steps: [.webSocket(socket)])
  }

  /// This response after a pause.
  public func delayed(by pause: Duration) -> MockResponse { with { $0.steps.insert(.delay(pause), at: 0) } }

  /// This response with an additional header field in each of its messages and opening handshakes.
  ///
  /// Steps of raw bytes are unchanged.
  public func adding(_ name: String, _ value: String) -> MockResponse {
    with {
      $0.steps = steps.map { step in
        switch step {
        case .message(var message):
          message.headers.append(Field(name, value))
          return .message(message)
        case .webSocket(var socket):
          socket.headers.append(Field(name, value))
          return .webSocket(socket)
        default: return step
        }
      }
    }
  }

  /// This response, truncated: all bytes of its body, then the end of the connection.
  ///
  /// The last message announces one byte more than it has, or lacks its last chunk. Messages with their own
  /// `Content-Length` or `Transfer-Encoding`, steps of raw bytes and responses without a body (to `HEAD`, 1xx, 204 and
  /// 304) are sent unchanged.
  public func thenCut() -> MockResponse {
    var copy = self
    if let last = steps.lastIndex(where: { if case .message = $0 { true } else { false } }),
      case .message(var message) = steps[last]
    {
      message.isIncomplete = true
      copy.steps[last] = .message(message)
    }
    return copy.thenClose()
  }

  /// This complete response; then closes the connection without announcing it.
  ///
  /// A client that keeps the connection finds it closed at its next request.
  public func thenClose() -> MockResponse { with { $0.steps.append(.cut) } }

  /// This response, sent before the request body is read; see ``readsBody`` and ``pausesReading``.
  public func withoutReadingBody(pausesReading: Bool = false) -> MockResponse {
    with { ($0.readsBody, $0.pausesReading) = (false, pausesReading) }
  }

  private func with(_ change: (inout MockResponse) -> Void) -> MockResponse {
    var copy = self
    change(&copy)
    return copy
  }

  private static func list(_ fields: KeyValuePairs<String, String>) -> [Field] {
    fields.map { Field($0.key, $0.value) }
  }
}

extension [MockResponse.Field] {
  fileprivate mutating func addContentType(_ type: String) {
    guard !contains(where: { FieldSyntax.isSameName($0.name, "Content-Type") }) else { return }
    append(Element("Content-Type", type))
  }
}
