public import Foundation

extension MockResponse {
  /// An answer from steps.
  public static func steps(_ steps: [Step]) -> MockResponse { MockResponse(steps: steps) }

  /// 200 with a text, `text/plain; charset=utf-8` unless the fields say otherwise.
  public static func ok(_ text: String = "", headers: KeyValuePairs<String, String> = [:]) -> MockResponse {
    status(200, headers: headers, body: text)
  }

  /// Any status with a text.
  ///
  /// A text that is not empty gets `Content-Type: text/plain; charset=utf-8` unless the fields have one.
  public static func status(
    _ status: Int, headers: KeyValuePairs<String, String> = [:], body: String = ""
  ) -> MockResponse {
    var fields = list(headers)
    if !body.isEmpty { fields.addContentType("text/plain; charset=utf-8") }
    return MockResponse(steps: [.message(Message(status: status, headers: fields, body: .data(Data(body.utf8))))])
  }

  /// Any status with bytes, without a `Content-Type` of its own.
  public static func data(
    _ data: Data, status: Int = 200, headers: KeyValuePairs<String, String> = [:]
  ) -> MockResponse {
    MockResponse(steps: [.message(Message(status: status, headers: list(headers), body: .data(data)))])
  }

  /// A JSON text, sent as it is with `Content-Type: application/json`.
  public static func json(
    _ text: String, status: Int = 200, headers: KeyValuePairs<String, String> = [:]
  ) -> MockResponse {
    var fields = list(headers)
    fields.addContentType("application/json")
    return MockResponse(steps: [.message(Message(status: status, headers: fields, body: .data(Data(text.utf8))))])
  }

  /// Exactly these bytes, and then the end of the connection unless `thenClose` is false.
  public static func raw(_ text: String, thenClose: Bool = true) -> MockResponse {
    MockResponse(steps: thenClose ? [.text(text), .cut] : [.text(text)])
  }

  /// 200 in chunks, with trailer fields after the last (RFC 9112 §7.1).
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

  /// A redirect to a location, sent as it is.
  public static func redirect(
    to location: String, status: Int = 302, headers: KeyValuePairs<String, String> = [:]
  ) -> MockResponse {
    let fields = [Field("Location", location)] + list(headers)
    return MockResponse(steps: [.message(Message(status: status, headers: fields))])
  }

  /// 200 with bytes of any number, made while they are sent.
  ///
  /// `Content-Length` is right for a `GET`; do not use it to answer `HEAD`.
  public static func repeating(
    _ pattern: Data, count: Int, headers: KeyValuePairs<String, String> = [:]
  ) -> MockResponse {
    let fields = list(headers) + [Field("Content-Length", String(pattern.count * count))]
    let head = Message(status: 200, headers: fields)
    return MockResponse(steps: [.message(head), .repeating(pattern, count: count)])
  }

  /// Never an answer: the connection stays open until the client or the server closes it.
  public static var hang: MockResponse { MockResponse(steps: [.hang]) }

  /// The body sent back with its `Content-Type`, the method in `X-Method` and the target in `X-Target`.
  ///
  /// It has the shape of a responder: `MockServer(answering: MockResponse.echo)`.
  @Sendable public static func echo(_ request: RecordedRequest) -> MockResponse {
    var fields = [Field("X-Method", request.method), Field("X-Target", request.target)]
    fields.addContentType(request.header("Content-Type") ?? "application/octet-stream")
    return MockResponse(steps: [.message(Message(status: 200, headers: fields, body: .data(request.body)))])
  }

  /// 200 at once, and then each piece of the request body as soon as it has come.
  ///
  /// For clients that send and receive at the same time; ``echo(_:)`` answers when the body is whole.
  public static var echoWhileReading: MockResponse {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return steps([.text(head), .echoChunks]).withoutReadingBody()
  }

  /// The same answer after a pause.
  public func delayed(by pause: Duration) -> MockResponse {
    var copy = self
    copy.steps.insert(.delay(pause), at: 0)
    return copy
  }

  /// The same answer with one more header field in each of its messages.
  ///
  /// Steps of raw bytes are not changed.
  public func adding(_ name: String, _ value: String) -> MockResponse {
    var copy = self
    copy.steps = steps.map { step in
      guard case .message(var message) = step else { return step }
      message.headers.append(Field(name, value))
      return .message(message)
    }
    return copy
  }

  /// The same answer, cut off: the reader gets the bytes of its body, and then the end of the connection.
  ///
  /// The last message announces one byte more than it has, or lacks its last chunk. One with a `Content-Length` or
  /// `Transfer-Encoding` of its own, steps of raw bytes and answers that have no body (to `HEAD`, 1xx, 204 and 304) are
  /// sent as they are.
  public func thenCut() -> MockResponse {
    var copy = self
    if let last = steps.lastIndex(where: { if case .message = $0 { true } else { false } }),
      case .message(var message) = steps[last]
    {
      message.isIncomplete = true
      copy.steps[last] = .message(message)
    }
    copy.steps.append(.cut)
    return copy
  }

  /// The same answer, whole, followed by the end of the connection without announcing it.
  ///
  /// A client that keeps the connection finds it dead at its next request.
  public func thenClose() -> MockResponse {
    var copy = self
    copy.steps.append(.cut)
    return copy
  }

  /// The same answer, given before the request body is read; see ``readsBody`` and ``pausesReading``.
  public func withoutReadingBody(pausesReading: Bool = false) -> MockResponse {
    var copy = self
    copy.readsBody = false
    copy.pausesReading = pausesReading
    return copy
  }

  private static func list(_ fields: KeyValuePairs<String, String>) -> [Field] {
    fields.map { Field($0.key, $0.value) }
  }
}

extension [MockResponse.Field] {
  fileprivate mutating func addContentType(_ type: String) {
    guard !contains(where: { $0.name.isSameFieldName(as: "Content-Type") }) else { return }
    append(Element("Content-Type", type))
  }
}
