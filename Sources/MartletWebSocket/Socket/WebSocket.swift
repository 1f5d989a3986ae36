public import Martlet
public import MartletBase

/// A WebSocket: a connection that transports messages in both directions (RFC 6455).
///
/// ```swift
/// try await client.webSocket("wss://chat.example.com/rooms/1") { socket in
///   try await socket.send("hello")
///   for try await message in socket.messages { print(message) }
/// }
/// ```
///
/// Pings of the server are answered even if the program does not receive, as long as its unread messages do not exceed
/// ``WebSocketOptions/maximumUnreadBytes``. Any number of tasks can send, and one can receive. A cancelled send or
/// receive leaves the WebSocket open, and loses no message.
///
/// A WebSocket that is released without ``close()`` is closed with 1001 (going away), without waiting for the server.
public final class WebSocket: Sendable {
  /// A message.
  @frozen public enum Message: Sendable, Hashable {
    /// A text.
    case text(String)
    /// Bytes.
    case binary(Data)

    /// The message's UTF-8 text or its bytes.
    public var data: Data {
      switch self {
      case .text(let text): Data(text.utf8)
      case .binary(let data): data
      }
    }
  }

  /// Bytes of a message that may not be complete.
  public struct Part: Sendable, Hashable {
    /// Whether the message is a text; its parts then end at whole characters.
    public let isText: Bool
    /// The bytes; may be empty only in the last part.
    public let data: Data
    /// Whether these are the first bytes of the message.
    public let isFirst: Bool
    /// Whether these are the last bytes of the message.
    public let isLast: Bool
  }

  /// The server's response to the opening handshake.
  public var response: StreamedResponse { session.connection.response }

  /// The subprotocol that the server has selected, or `nil`.
  public let subprotocol: String?

  /// Whether messages can be compressed.
  public let isCompressed: Bool

  let session: WebSocketSession

  init(_ session: WebSocketSession, _ agreement: WebSocketHandshake.Agreement) {
    self.session = session
    (subprotocol, isCompressed) = (agreement.subprotocol, agreement.deflate != nil)
  }

  deinit { session.abandon() }

  // MARK: Sending

  /// Sends a text message.
  ///
  /// It waits for earlier messages, and while more than 256 KiB wait to be sent. A send that throws has sent nothing; one
  /// that returns has passed the message on, but the server may not have received it yet.
  ///
  /// - Parameter text: The text.
  /// - Throws: `HTTPError` of kind `HTTPError.Kind.webSocketClosed` after the end, or the error that has ended the
  ///   WebSocket; of kind `HTTPError.Kind.invalidRequest` for a message larger than
  ///   ``WebSocketOptions/maximumMessageBytes``; of kind `HTTPError.Kind.overloaded` above
  ///   ``WebSocketOptions/maximumWaitingMessages``; of kind `HTTPError.Kind.timedOut` if the server accepts nothing for
  ///   `TimeoutPolicy.idle`, which ends the WebSocket; `CancellationError`.
  public func send(_ text: String) async throws { try await session.send(.text(text)) }

  /// Sends a binary message, as ``send(_:)-(String)`` does.
  ///
  /// - Parameter data: The bytes.
  /// - Throws: The errors of ``send(_:)-(String)``.
  public func send(_ data: Data) async throws { try await session.send(.binary(data)) }

  /// Sends a message, as ``send(_:)-(String)`` does.
  ///
  /// - Parameter message: The message.
  /// - Throws: The errors of ``send(_:)-(String)``.
  public func send(_ message: Message) async throws { try await session.send(message) }

  /// Encodes a value with the client's encoder, and sends it as a text message.
  ///
  /// - Parameter value: The value.
  /// - Throws: The encoder's error; the errors of ``send(_:)-(String)``.
  public func send(json value: some Encodable) async throws {
    let data = try session.client.configuration.encoder.encode(value)
    try await session.send(.text(String(decoding: data, as: UTF8.self)))
  }

  /// Sends a text message in fragments, while its text is being produced.
  ///
  /// Other messages wait for its end; pings and pongs are sent between the fragments. If the sequence throws or the task
  /// is cancelled after the first fragment, the message cannot be completed, so the WebSocket is closed with 1011
  /// (internal server error). The end of the WebSocket does not end the wait for the sequence's next part.
  ///
  /// - Parameter parts: The parts of the text.
  /// - Throws: The errors of ``send(_:)-(String)`` and of the sequence.
  public func send<Parts: AsyncSequence>(parts: Parts) async throws where Parts.Element == String {
    try await session.send(.text, parts) { Data($0.utf8) }
  }

  /// Sends a binary message in fragments, as `send(parts:)` does.
  ///
  /// - Parameter parts: The parts of the bytes.
  /// - Throws: The errors of ``send(_:)-(String)`` and of the sequence.
  public func send<Parts: AsyncSequence>(parts: Parts) async throws where Parts.Element == Data {
    try await session.send(.binary, parts) { $0 }
  }

  // MARK: Receiving

  /// The messages from the server, until the WebSocket is closed.
  ///
  /// The sequence ends as ``receive()`` does.
  public var messages: Messages { Messages(socket: self) }

  /// The next message, or `nil` after the end.
  ///
  /// The end is normal if the server closes with 1000 (normal closure), with 1001 (going away) or without a code, or if
  /// the client has closed. After ``close()``, the end is returned when the connection has ended, at most
  /// ``WebSocketOptions/closeTimeout`` later.
  ///
  /// - Returns: The message.
  /// - Throws: `HTTPError` of kind `HTTPError.Kind.webSocketClosed` if the server closes with another code, which the
  ///   message and ``closeCode`` contain; of kind `HTTPError.Kind.connectionLost` without a close frame; of kind
  ///   `HTTPError.Kind.protocolViolation` or `HTTPError.Kind.bodyTooLarge` if the server violates the protocol or a
  ///   limit; of kind `HTTPError.Kind.unsupported` if another task is receiving; `CancellationError`.
  public func receive() async throws -> Message? { try await session.receive() }

  /// Receives a message, and decodes it with the client's decoder.
  ///
  /// - Parameter type: The type of the value.
  /// - Returns: The value, or `nil` after the end.
  /// - Throws: `HTTPError` of kind `HTTPError.Kind.decoding`; the errors of ``receive()``.
  public func receive<Value: Decodable>(as type: Value.Type = Value.self) async throws -> Value? {
    guard let message = try await session.receive() else { return nil }
    do {
      return try session.client.configuration.decoder.decode(type, from: message.data)
    } catch {
      throw HTTPError(.decoding, "a message is not a \(type): \(error)", phase: .receiving, underlying: error)
    }
  }

  /// The next bytes of a message, before it is complete; `nil` after the end.
  ///
  /// Without ``WebSocketOptions/deliversParts``, each message is one part. After the first part of a message,
  /// ``receive()`` skips the rest of it.
  ///
  /// - Returns: The part.
  /// - Throws: The errors of ``receive()``.
  public func receivePart() async throws -> Part? { try await session.receivePart() }

  // MARK: Pings and the end

  /// Sends a ping, and waits for the pong.
  ///
  /// A pong arrives after the messages that the server has sent before. So it is late if the program does not receive
  /// them.
  ///
  /// - Returns: The time until the pong.
  /// - Throws: `HTTPError` of kind `HTTPError.Kind.timedOut` after ``WebSocketOptions/pingTimeout``; the WebSocket
  ///   stays open; of kind `HTTPError.Kind.overloaded` if too many pings wait
  ///   (``WebSocketOptions/maximumWaitingMessages``). The errors of ``send(_:)-(String)``.
  @discardableResult
  public func ping() async throws -> Duration { try await session.ping() }

  /// The number of sent messages that no pong has confirmed.
  ///
  /// A pong confirms the messages that were sent before its ping: the server has received them, although its program may
  /// not have handled them. ``ping()`` and ``WebSocketOptions/keepAlive`` send pings; without them, all messages count.
  /// After the end, these messages may be lost. A send that throws does not count.
  public var unconfirmedCount: Int { session.unconfirmedCount }

  /// The code from the server's close frame, or `nil` before the end.
  ///
  /// ``WebSocketCloseCode/noStatusReceived`` if the frame has none, and ``WebSocketCloseCode/abnormalClosure`` without a
  /// frame.
  public var closeCode: WebSocketCloseCode? { session.closure?.code }

  /// The reason from the server's close frame; empty if there is none.
  public var closeReason: String { session.closure?.reason ?? "" }

  /// Waits until the connection has ended, or the task is cancelled.
  ///
  /// The end comes after the messages that the program does not receive, if there are more than
  /// ``WebSocketOptions/maximumUnreadBytes``.
  public func waitUntilClosed() async throws { try await session.ended.value() }

  /// Closes the WebSocket with 1000 (normal closure), and waits for the server's agreement.
  ///
  /// Messages that were not received yet are dropped, and waiting sends throw. The wait is limited by ``WebSocketOptions/closeTimeout``, and ends
  /// at once when the task is cancelled. Calling it again only waits.
  public func close() async { await session.close(.normalClosure, "") }

  /// Closes the WebSocket with a code, as ``close()`` does.
  ///
  /// - Parameters:
  ///   - code: A code that may be sent (``WebSocketCloseCode/isSendable``).
  ///   - reason: The reason, at most 123 bytes of UTF-8.
  /// - Throws: `HTTPError` of kind `HTTPError.Kind.invalidRequest` for an invalid code or reason; nothing is sent then.
  public func close(_ code: WebSocketCloseCode, reason: String = "") async throws {
    guard code.isSendable else {
      throw HTTPError(.invalidRequest, "the close code \(code) must not be sent; use 1000, or 3000 to 4999")
    }
    let count = reason.utf8.count
    guard count <= WebSocketFrame.maximumControlPayload - 2 else {
      throw HTTPError(.invalidRequest, "the close reason has \(count) bytes; at most 123 are allowed")
    }
    await session.close(code, reason)
  }
}

extension WebSocket {
  /// The messages of a WebSocket.
  public struct Messages: AsyncSequence, Sendable {
    public typealias Element = Message
    public typealias Failure = any Error

    /// A loop over the messages keeps the WebSocket alive.
    fileprivate let socket: WebSocket

    /// Iterates over messages.
    public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
      fileprivate let socket: WebSocket

      /// The next message, or `nil` after the end; see ``WebSocket/receive()``.
      public mutating func next() async throws -> Message? { try await socket.receive() }
    }

    /// Starts receiving.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(socket: socket) }
  }
}

extension HTTPError.Kind {
  /// A WebSocket has been closed, so it transports no more messages.
  public static let webSocketClosed = HTTPError.Kind("webSocketClosed")
}
