package import MartletBase

/// A frame with its whole payload (RFC 6455 §5.2).
package struct WebSocketFrame: Hashable, Sendable {
  /// The type of a frame (RFC 6455 §5.2).
  ///
  /// The numbers 3 to 7 and 11 to 15 are reserved.
  package enum Opcode: UInt8, Sendable {
    case continuation = 0
    case text = 1
    case binary = 2
    case close = 8
    case ping = 9
    case pong = 10

    package var isControl: Bool { rawValue >= 8 }
  }

  package var opcode: Opcode
  /// Whether the frame is the last of its message.
  package var isFinal: Bool
  /// Whether the first reserved bit is set, which marks a compressed message (RFC 7692 §6).
  package var rsv1: Bool
  package var rsv2: Bool
  package var rsv3: Bool
  /// The payload without a mask.
  package var payload: Data

  package init(
    _ opcode: Opcode, _ payload: Data = Data(), isFinal: Bool = true, rsv1: Bool = false, rsv2: Bool = false,
    rsv3: Bool = false
  ) {
    self.opcode = opcode
    self.isFinal = isFinal
    self.rsv1 = rsv1
    self.rsv2 = rsv2
    self.rsv3 = rsv3
    self.payload = payload
  }

  /// The maximum number of payload bytes in a control frame (RFC 6455 §5.5).
  package static let maximumControlPayload = 125
}

extension WebSocketFrame.Opcode: CustomStringConvertible {
  package var description: String {
    switch self {
    case .continuation: "continuation"
    case .text: "text"
    case .binary: "binary"
    case .close: "close"
    case .ping: "ping"
    case .pong: "pong"
    }
  }
}
