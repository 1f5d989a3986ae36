package import MartletBase

/// The type of a message (RFC 6455 §5.6).
package enum MessageKind: Sendable {
  case text, binary
}

/// A message, a part of a message, or a control frame.
package enum WebSocketEvent: Hashable, Sendable {
  /// A whole text message.
  case text(String)
  /// A whole binary message.
  case binary(Data)
  /// The next bytes of a message, which are delivered as they arrive.
  ///
  /// Text is split only after whole characters. Only the last part can be empty.
  case part(MessageKind, Data, isFirst: Bool, isLast: Bool)
  case ping(Data)
  case pong(Data)
  /// The end of the stream; a frame without a code has an empty reason.
  case close(WebSocketCloseCode?, reason: String)
}
