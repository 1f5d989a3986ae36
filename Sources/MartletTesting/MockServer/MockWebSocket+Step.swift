public import Foundation
public import MartletWebSocket

extension MockWebSocket {
  /// One step of a WebSocket's script.
  ///
  /// Messages are compressed if compression was negotiated.
  public struct Step: Sendable {
    /// The action of a step.
    indirect enum Kind: Sendable {
      case message(RecordedWebSocket.Message)
      case fragments([Data], isText: Bool)
      case ping(Data)
      case pong(Data)
      case frame(RawFrame)
      case bytes(Data)
      case delay(Duration)
      case drip(Kind, chunk: Int, every: Duration)
      case receive(RecordedWebSocket.Message?)
      /// Receives a message; the closure returns the reason why it is unexpected.
      case check(@Sendable (RecordedWebSocket.Message) -> String?)
      /// The number of messages is `nil` for all messages.
      case echo(Int?)
      case close(WebSocketCloseCode?, reason: String)
      /// Waits for the client's close frame, after the server's.
      case finishClose
      case waitForClose
      case cut(Kind?)
      case reset
      case hang
    }

    /// A frame whose bits are sent unchanged.
    struct RawFrame: Sendable {
      let opcode: UInt8
      let payload: Data
      let isFinal: Bool
      let rsv1: Bool
      let rsv2: Bool
      let rsv3: Bool
      let isMasked: Bool
    }

    let kind: Kind
  }
}

// MARK: - Sending

extension MockWebSocket.Step {
  /// Sends a text message.
  public static func text(_ text: String) -> Self { Self(kind: .message(.text(text))) }

  /// Sends a binary message.
  public static func binary(_ bytes: Data) -> Self { Self(kind: .message(.binary(bytes))) }

  /// Sends a text message in one frame per part.
  ///
  /// Without parts, nothing is sent.
  public static func fragments(_ parts: [String]) -> Self {
    Self(kind: .fragments(parts.map { Data($0.utf8) }, isText: true))
  }

  /// Sends a binary message in one frame per part.
  ///
  /// Without parts, nothing is sent.
  public static func fragments(_ parts: [Data]) -> Self { Self(kind: .fragments(parts, isText: false)) }

  /// Sends a ping with at most 125 bytes; the rest is omitted.
  public static func ping(_ payload: Data = Data()) -> Self { Self(kind: .ping(payload)) }

  /// Sends a pong with at most 125 bytes; the rest is omitted.
  public static func pong(_ payload: Data = Data()) -> Self { Self(kind: .pong(payload)) }

  /// Sends a frame with any header, even an invalid one.
  ///
  /// The payload is sent unchanged, and is not compressed.
  ///
  /// - Parameters:
  ///   - opcode: The opcode; the upper four bits are ignored.
  ///   - payload: The payload, of any length.
  ///   - isFinal: Whether the frame is the last of its message.
  ///   - rsv1: Whether the first reserved bit is set.
  ///   - rsv2: Whether the second reserved bit is set.
  ///   - rsv3: Whether the third reserved bit is set.
  ///   - isMasked: Whether the payload is masked, which servers must not do (RFC 6455 §5.1).
  /// - Returns: The step.
  public static func frame(
    opcode: UInt8, _ payload: Data = Data(), isFinal: Bool = true, rsv1: Bool = false, rsv2: Bool = false,
    rsv3: Bool = false, isMasked: Bool = false
  ) -> Self {
    Self(
      kind: .frame(
        RawFrame(
          opcode: opcode, payload: payload, isFinal: isFinal, rsv1: rsv1, rsv2: rsv2, rsv3: rsv3, isMasked: isMasked)))
  }

  /// Sends these bytes unchanged.
  ///
  /// They may be a part of a frame; the rest is another step. A client's ping between the steps gets a pong inside that
  /// frame, unless ``MockWebSocket/sendsPongs`` is false.
  public static func bytes(_ bytes: Data) -> Self { Self(kind: .bytes(bytes)) }

  /// Sends another step's frames in small chunks with pauses between them.
  ///
  /// The first chunk is sent at once. Pongs are sent after the last chunk. Steps that send nothing are unchanged.
  ///
  /// - Parameters:
  ///   - step: The step, such as a text message.
  ///   - chunk: The number of bytes in a chunk, at least 1.
  ///   - interval: The pause between two chunks.
  /// - Returns: The step.
  public static func drip(_ step: Self, chunk: Int = 1, every interval: Duration) -> Self {
    Self(kind: .drip(step.kind, chunk: max(1, chunk), every: interval))
  }
}

// MARK: - Waiting

extension MockWebSocket.Step {
  /// Waits.
  ///
  /// The client's pings and close frames are handled meanwhile.
  public static func delay(_ duration: Duration) -> Self { Self(kind: .delay(duration)) }

  /// Waits for the client's next message.
  ///
  /// Messages that arrived during earlier steps count, in their order.
  public static var receive: Self { Self(kind: .receive(nil)) }

  /// Waits for the client's next message, which must be this text.
  ///
  /// On a mismatch, the server closes with 1008 (policy violation); see ``RecordedWebSocket/failure``.
  public static func receive(_ text: String) -> Self { Self(kind: .receive(.text(text))) }

  /// Waits for the client's next message, which must be these bytes.
  ///
  /// On a mismatch, the server closes with 1008 (policy violation); see ``RecordedWebSocket/failure``.
  public static func receive(_ bytes: Data) -> Self { Self(kind: .receive(.binary(bytes))) }

  /// Sends each message back until the client closes.
  public static var echo: Self { Self(kind: .echo(nil)) }

  /// Sends the next `count` messages back.
  public static func echo(_ count: Int) -> Self { Self(kind: .echo(max(0, count))) }

  /// Waits for the client's close frame, and continues with the next step.
  ///
  /// A script that contains this step is played to its end, even if the close frame has arrived earlier. The server's own
  /// close frame follows after the last step.
  public static var waitForClose: Self { Self(kind: .waitForClose) }

  /// Sends nothing more, not even pongs and a close frame.
  ///
  /// Messages are recorded until the client ends the connection or the server stops. Later steps are not played.
  public static var hang: Self { Self(kind: .hang) }
}

// MARK: - Closing

extension MockWebSocket.Step {
  /// Closes with 1000 (normal closure).
  ///
  /// The server sends a close frame, waits for the client's close frame without a time limit, and closes the connection.
  /// Later steps are not played.
  public static var close: Self { .close(.normalClosure) }

  /// Closes with a code and a reason, like ``close``.
  ///
  /// Codes that must not be sent are sent unchanged. A reason of more than 123 bytes is truncated after a character.
  public static func close(_ code: WebSocketCloseCode, reason: String = "") -> Self {
    Self(kind: .close(code, reason: reason))
  }

  /// Closes with an empty close frame, like ``close``.
  public static var closeWithoutCode: Self { Self(kind: .close(nil, reason: "")) }

  /// Closes the connection (FIN) without a close frame; later steps are not played.
  public static var cut: Self { Self(kind: .cut(nil)) }

  /// Sends the first half of another step's bytes, then closes the connection (FIN).
  ///
  /// Later steps are not played.
  public static func cut(inside step: Self) -> Self { Self(kind: .cut(step.kind)) }

  /// Resets the connection (RST); later steps are not played.
  public static var reset: Self { Self(kind: .reset) }
}

extension MockWebSocket.Step.Kind {
  /// Whether the step takes messages of the client.
  var takesMessages: Bool {
    switch self {
    case .receive, .check, .echo: true
    case .drip(let step, _, _): step.takesMessages
    default: false
    }
  }

  var isWaitForClose: Bool { if case .waitForClose = self { true } else { false } }

  var isClose: Bool { if case .close = self { true } else { false } }
}
