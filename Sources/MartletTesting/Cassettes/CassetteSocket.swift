import MartletBase
import Foundation
import Martlet
import MartletHAR
import MartletWebSocket

/// Replays a recorded WebSocket.
///
/// Received messages are sent in the recorded order, each after the sent messages before it have arrived.
struct CassetteSocket {
  private typealias Recorded = HAREntry.WebSocketMessage

  private let messages: [Recorded]
  private let cassette: Cassette
  private let redaction: Redaction
  /// The entry for errors, such as `entry 1 of cassette 'x.har'`.
  private let name: String

  /// Throws if the record of the messages is incomplete.
  init(
    _ messages: [HAREntry.WebSocketMessage], of entry: HAREntry, _ number: Int, _ cassette: Cassette,
    _ redaction: Redaction
  )
    throws(HTTPError)
  {
    (self.messages, self.cassette, self.redaction) = (messages, cassette, redaction)
    name = "entry \(number) of cassette '\(cassette.file.lastPathComponent)'"
    guard entry.omittedMessageCount == 0 else {
      throw HTTPError(.fileFailed, "\(name) lacks \(entry.omittedMessageCount) messages of its WebSocket")
    }
    for (index, message) in messages.enumerated() {
      if message.isSent, !cassette.matching.comparesBody { continue }
      guard message.body.isWhole else {
        throw HTTPError(.fileFailed, "\(name) has only the beginning of message \(index + 1)")
      }
      if message.body.content == .none, message.body.size > 0, !message.isSent || !message.hasDigest {
        let reason = message.body.comment.map { ": \($0)" } ?? ""
        throw HTTPError(.fileFailed, "\(name) lacks the content of message \(index + 1)\(reason)")
      }
    }
  }

  /// The server's side of the WebSocket.
  func server(_ handshake: MockWebSocket, _ opening: WebSocketOpening) -> sending any StubServer {
    var socket = handshake
    socket.steps = steps
    return CheckedSession(socket, opening) { [name] in
      HTTPError(.unsupported, "\(name): \($0); run the test with MARTLET_CASSETTES=missing to record it")
    }
  }

  private var steps: [MockWebSocket.Step] {
    var steps: [MockWebSocket.Step] = []
    var last = messages.first?.time
    for (index, message) in messages.enumerated() {
      if case .recorded = cassette.pacing, !message.isSent, let last, message.time > last {
        steps.append(.delay(.seconds(message.time.timeIntervalSince(last))))
      }
      last = message.time
      switch message.action {
      case .close where message.isSent:
        // The server's close frame completes the client's.
        return steps
      case .close(let code, let reason):
        return steps + [code.map { .close($0, reason: reason) } ?? .closeWithoutCode]
      case .message where message.isSent: steps.append(check(message, index + 1))
      case .message(let sent): steps.append(MockWebSocket.Step(kind: .message(sent)))
      }
    }
    // A record of another program has no close frames, and the client may close.
    return steps + [
      .check { [redaction] received in
        let message = InstrumentEvent.Message(received).map { Recorded(recording: $0, at: .distantPast, redaction) }
        return "the client's \(message?.summary ?? "message") follows the last recorded message"
      }
    ]
  }

  private func check(_ recorded: Recorded, _ number: Int) -> MockWebSocket.Step {
    guard cassette.matching.comparesBody else { return .receive }
    let expected = recorded.key(redaction)
    return .check { [redaction] received in
      guard let message = InstrumentEvent.Message(received) else { return nil }
      let sent = Recorded(recording: message, at: .distantPast, redaction)
      let wants = "message \(number) is \(recorded.summary)"
      return sent.key(redaction) == expected ? nil : "the client sent \(sent.summary), and \(wants)"
    }
  }
}

/// A session whose first failure fails the client's connection.
private final class CheckedSession: StubServer {
  private let session: WebSocketServerSession
  private let opening: WebSocketOpening
  private let error: @Sendable (String) -> HTTPError

  init(_ socket: MockWebSocket, _ opening: WebSocketOpening, _ error: @escaping @Sendable (String) -> HTTPError) {
    (self.opening, self.error) = (opening, error)
    session = opening.session(socket)
  }

  var wantsRead: Bool { session.wantsRead }
  func receive(_ bytes: UnsafeRawBufferPointer) { session.receive(bytes) }
  func peerEnded() { session.peerEnded() }
  func connectionEnded() { session.connectionEnded() }

  func act(now: ContinuousClock.Instant) -> StubAction {
    let action = session.act(now: now)
    return opening.record.failure.map { .fail(error($0)) } ?? action
  }
}

extension MockWebSocket.Step {
  /// Waits for the client's next message; the closure returns the reason why it is unexpected.
  static func check(_ problem: @escaping @Sendable (RecordedWebSocket.Message) -> String?) -> Self {
    Self(kind: .check(problem))
  }
}

extension HAREntry.WebSocketMessage {
  enum Action {
    case message(RecordedWebSocket.Message)
    case close(WebSocketCloseCode?, reason: String)
  }

  /// Creates a message to replay, with its secrets masked.
  ///
  /// As with bodies, a sent message in which secrets could not be masked is recorded as its digest, and a received binary
  /// message is recorded unchanged, unless the redaction masks all bodies.
  init(recording message: InstrumentEvent.Message, at time: Date, _ redaction: Redaction) {
    self.init(message, at: time, redaction: redaction)
    guard body.content == .none, !redaction.hidesBodies, !message.body.data.isEmpty else { return }
    if isSent {
      body.comment = HARKey.Body.digest(of: message.body.data, nil).comment
    } else if case .binary = message.kind {
      body.content = .bytes(message.body.data)
      body.comment = nil
    }
  }

  /// The parts that are compared, with secrets masked.
  func key(_ redaction: Redaction) -> HARKey.Body {
    HARKey.Body(body, nil, nil, redaction)
  }

  var hasDigest: Bool { body.comment.map { HARKey.Body.isDigest($0) } ?? false }

  var action: Action {
    switch (opcode, body.content) {
    case (8, .bytes(let payload)) where payload.count >= 2:
      let code = payload.prefix(2).reduce(UInt16(0)) { $0 << 8 | UInt16($1) }
      return .close(WebSocketCloseCode(rawValue: code), reason: String(decoding: payload.dropFirst(2), as: UTF8.self))
    case (8, _): return .close(nil, reason: "")
    case (1, .text(let text)): return .message(.text(text))
    case (1, _): return .message(.text(""))
    case (_, .bytes(let bytes)): return .message(.binary(bytes))
    case (_, .text(let text)): return .message(.binary(Data(text.utf8)))
    default: return .message(.binary(Data()))
    }
  }

  var summary: String {
    if case .message(let message) = action, body.content != .none { return message.summary }
    return "\(body.size) bytes with another digest"
  }
}

extension InstrumentEvent.Message {
  /// A message of the client; `nil` for control frames.
  init?(_ message: RecordedWebSocket.Message) {
    switch message {
    case .text(let text): self.init(.sent, .text, Data(text.utf8))
    case .binary(let data): self.init(.sent, .binary, data)
    case .ping, .pong, .close: return nil
    }
  }
}
