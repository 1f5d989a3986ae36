public import Foundation
public import MartletWebSocket

/// A WebSocket as a ``MockServer`` received it.
///
/// ```swift
/// let socket = await server.waitForWebSocket { $0.isEnded }
/// #expect(socket?.texts == ["hello"])
/// #expect(socket?.closeCode == .normalClosure)
/// ```
public struct RecordedWebSocket: Sendable {
  /// A message or a control frame of the client.
  @nonexhaustive public enum Message: Hashable, Sendable {
    /// A text message, without fragmentation and compression.
    case text(String)
    /// A binary message, without fragmentation and compression.
    case binary(Data)
    /// A ping.
    case ping(Data)
    /// A pong.
    case pong(Data)
    /// A close frame; an empty one has no code and an empty reason.
    case close(WebSocketCloseCode?, reason: String)
  }

  /// The header of a received frame (RFC 6455 §5.2).
  public struct Frame: Hashable, Sendable {
    /// The opcode, from 0 to 15.
    public let opcode: UInt8
    /// Whether the frame is the last of its message.
    public let isFinal: Bool
    /// Whether the first reserved bit is set, which marks a compressed message (RFC 7692 §6).
    public let rsv1: Bool
    /// Whether the second reserved bit is set.
    public let rsv2: Bool
    /// Whether the third reserved bit is set.
    public let rsv3: Bool
    /// The key that masks the payload, or `nil` for an unmasked frame.
    ///
    /// The first byte on the wire is the most significant.
    public let maskingKey: UInt32?
    /// The number of payload bytes that the header announces.
    public let payloadLength: Int

    /// Whether the payload is masked.
    public var isMasked: Bool { maskingKey != nil }
  }

  /// The request of the opening handshake.
  public let request: RecordedRequest
  /// The subprotocol that the server selected, or `nil` for none.
  public let subprotocol: String?
  /// The negotiated parameters of compression, or `nil` if messages are not compressed.
  public let compression: MockWebSocket.Compression?

  /// The received messages and control frames, in order.
  ///
  /// Messages count towards ``MockServer/Options/maximumKeptBodyBytes``, in total; messages beyond this limit are
  /// recorded as empty.
  public internal(set) var messages: [Message] = []
  /// The headers of the received frames, in order, including the header of an invalid frame.
  public internal(set) var frames: [Frame] = []
  /// The reason why the server failed the connection, or `nil`.
  ///
  /// The reason is a violation of the protocol, or a message that `receive` did not expect.
  public internal(set) var failure: String?
  /// Whether the TCP connection has ended.
  public internal(set) var isEnded = false

  init(request: RecordedRequest, subprotocol: String?, compression: MockWebSocket.Compression?) {
    self.request = request
    self.subprotocol = subprotocol
    self.compression = compression
  }

  /// The request's target up to `?`, without scheme or authority.
  public var path: String { request.path }

  /// The received text messages, in order.
  public var texts: [String] { messages.compactMap { if case .text(let text) = $0 { text } else { nil } } }

  /// The code of the client's close frame, or `nil` before it has arrived.
  ///
  /// An empty close frame has code 1005 (no status received).
  public var closeCode: WebSocketCloseCode? {
    messages.lazy.compactMap { if case .close(let code, _) = $0 { code ?? .noStatusReceived } else { nil } }.first
  }

  /// The reason in the client's close frame, or `nil` before it has arrived.
  public var closeReason: String? {
    messages.lazy.compactMap { if case .close(_, let reason) = $0 { reason } else { nil } }.first
  }
}
