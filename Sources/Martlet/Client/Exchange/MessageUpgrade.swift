package import MartletBase

/// The messages of a protocol, for transports that transport messages instead of the protocol's bytes.
///
/// A module such as `MartletWebSocket` adds it to a request for its protocol. The upgraded connection still transports
/// the protocol's bytes: a codec translates between them and the messages.
package struct MessageUpgrade: RequestOptions.Key, Sendable {
  package typealias Value = MessageUpgrade

  /// A message or a control frame, in the terms of RFC 6455.
  package enum Message: Hashable, Sendable {
    case text(String)
    case binary(Data)
    case ping(Data)
    case pong(Data)
    case close(Closure)
  }

  /// The contents of a close frame.
  package struct Closure: Hashable, Sendable {
    package var code: UInt16?
    package var reason: Data

    package init(code: UInt16?, reason: Data) { (self.code, self.reason) = (code, reason) }
  }

  /// Creates the codec of a connection.
  package let makeCodec: @Sendable () -> any MessageCodec
  /// The fields of a 101 response to a request, in which the server has selected a subprotocol.
  package let responseFields: @Sendable (HTTPRequest, String?) -> HTTPHeaders
  /// The maximum number of bytes in a received message.
  package let maximumMessageBytes: Int
  /// The option that requires the protocol's bytes, as the caller writes it; `nil` if messages suffice.
  package let bytesOption: String?

  package init(
    maximumMessageBytes: Int, bytesOption: String?, makeCodec: @escaping @Sendable () -> any MessageCodec,
    responseFields: @escaping @Sendable (HTTPRequest, String?) -> HTTPHeaders
  ) {
    (self.maximumMessageBytes, self.bytesOption) = (maximumMessageBytes, bytesOption)
    (self.makeCodec, self.responseFields) = (makeCodec, responseFields)
  }
}

/// Translates between the client's side of a protocol and messages.
package protocol MessageCodec {
  /// The messages that end in the client's next bytes.
  mutating func messages(in bytes: Data) throws -> [MessageUpgrade.Message]

  /// The server's bytes for a message.
  mutating func bytes(of message: MessageUpgrade.Message) throws -> Data
}

extension Call {
  /// The messages of the requested protocol.
  var messageUpgrade: MessageUpgrade? { options.source[MessageUpgrade.self] }
}
