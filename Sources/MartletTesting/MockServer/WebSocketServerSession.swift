import MartletBase
import MartletWebSocket
import Foundation

/// Plays the steps of a WebSocket, and records what the client sends.
///
/// ```
/// receive ──▶ MessageReader ──▶ record ──▶ inbox ──▶ receive and echo steps ──▶ output
///                                  └─────▶ pongs ──────────────────────────────────▲
/// ```
///
/// It has neither a socket nor a clock: its owner sends the bytes of ``withOutput(_:)`` and performs the action of
/// ``next(now:)``.
final class WebSocketServerSession {
  typealias Message = RecordedWebSocket.Message
  typealias Step = MockWebSocket.Step

  /// The connection's next action.
  enum Action {
    case send
    /// Call ``next(now:)`` again after a timer or received bytes.
    case wait
    /// Close with FIN.
    case cut
    /// Close with RST.
    case reset
  }

  private enum State {
    /// The next step can be played.
    case ready
    /// The closure returns the reason why a message is unexpected.
    case receiving(((Message) -> String?)?)
    case echoing(Int?)
    case waitingForClose
    /// The server's close frame is sent.
    case closing
    case hanging
  }

  /// The bytes that a drip has not sent yet.
  private struct Drip {
    var rest: Data
    let chunk: Int
    let interval: Duration
  }

  static let maximumMessageBytes = 64 << 20
  /// The number of waiting bytes above which nothing is read.
  static let maximumWaitingBytes = 1 << 20
  /// The memory of a waiting message in addition to its bytes, because even empty messages need memory.
  private static let messageCost = 64

  /// The time until which no step is played.
  private var pausedUntil: ContinuousClock.Instant?

  /// The remaining steps, the next one last.
  private var steps: [Step.Kind]
  private var state = State.ready
  private var drip: Drip?
  private let sendsPongs: Bool
  /// Whether the script has steps for the time after the client's close frame.
  private let continuesAfterClose: Bool

  private var scanner = FrameScanner()
  private var reader: MessageReader
  private var writer: MessageWriter

  /// The bytes to send; those before `offset` are sent.
  private var output = Data()
  private var offset = 0
  private var isOutputEcho = false
  /// The pongs that follow the output.
  private var pongs = Data()
  /// The messages for later steps; those before `inboxStart` are taken.
  private var inbox: [Message] = []
  private var inboxStart = 0
  private var inboxBytes = 0

  /// The close frame that fails the connection, before it is sent.
  private var failure: WebSocketViolation?
  private var hasFailed = false
  private var closeOfClient: (code: WebSocketCloseCode?, reason: String)?
  private var isCloseSent = false
  /// Whether the client has ended the TCP connection.
  private var hasEnded = false

  /// The number of message bytes that may still be recorded.
  private var keptBytes: Int
  private let record: ((inout RecordedWebSocket) -> Void) -> Void

  /// Creates a session.
  ///
  /// - Parameters:
  ///   - socket: The script.
  ///   - head: The head of the handshake's response.
  ///   - deflate: The negotiated parameters of compression.
  ///   - options: The limits of the record.
  ///   - record: Changes the record.
  init(
    _ socket: MockWebSocket, head: Data, deflate: PermessageDeflate?, options: MockServer.Options,
    record: @escaping ((inout RecordedWebSocket) -> Void) -> Void
  ) {
    steps = socket.steps.reversed().map(\.kind)
    sendsPongs = socket.sendsPongs
    continuesAfterClose = steps.contains(where: \.isWaitForClose)
    let limits = MessageReader.Limits(
      maximumFrameBytes: Self.maximumMessageBytes, maximumMessageBytes: Self.maximumMessageBytes)
    reader = MessageReader(.server, limits: limits, deflate: deflate)
    writer = MessageWriter(.server, deflate: deflate)
    keptBytes = options.keepsBodies ? options.maximumKeptBodyBytes : 0
    self.record = record
    output = head
    guard socket.handshake == .withFirstFrames else { return }
    while let step = steps.last, let bytes = encoded(step) {
      steps.removeLast()
      output += bytes
      if step.isClose { steps.append(.finishClose) }
    }
  }

  var hasOutput: Bool { !output.isEmpty }

  /// The time at which the script continues without received bytes.
  ///
  /// With output, the script first waits for the socket. A timer would then fire again and again.
  var nextTimer: ContinuousClock.Instant? { hasOutput ? nil : pausedUntil }

  /// Whether the client ended the connection, and nothing more can be sent.
  var isAbandoned: Bool {
    guard hasEnded else { return false }
    if case .hanging = state { return true }
    return closeOfClient == nil
  }

  /// Whether to read bytes of the client now.
  var wantsRead: Bool { !hasEnded && waitingBytes <= Self.maximumWaitingBytes }

  private var waitingBytes: Int { inboxBytes + pongs.count + (isOutputEcho ? output.count - offset : 0) }

  /// Calls a closure with the next bytes to send.
  func withOutput<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    output.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[offset...])) }
  }

  /// Removes the first bytes of the output, which were sent.
  func sent(_ count: Int) {
    offset += count
    guard offset >= output.count else { return }
    (output, offset, isOutputEcho) = (Data(), 0, false)
  }

  /// Notes that the client has ended its side of the TCP connection.
  func peerEnded() { hasEnded = true }

  func connectionEnded() { record { $0.isEnded = true } }
}

// MARK: - Receiving

extension WebSocketServerSession {
  func receive(_ bytes: UnsafeRawBufferPointer) {
    // A failed connection reads bytes only to discard them.
    guard !hasFailed, !reader.isClosed else { return }
    let frames = scanner.scan(bytes)
    if !frames.isEmpty { record { $0.frames += frames } }
    reader.append(Data(bytes))
    parse()
  }

  /// Reads messages until too many of them wait.
  private func parse() {
    while !hasFailed, waitingBytes <= Self.maximumWaitingBytes {
      do throws(WebSocketViolation) {
        guard let event = try reader.next() else { return }
        handle(event)
      } catch {
        fail(error)
      }
    }
  }

  private func handle(_ event: WebSocketEvent) {
    switch event {
    case .text(let text):
      let size = text.utf8.count
      keep(takesBytes(size) ? .text(text) : .text(""))
      offer(.text(text), size)
    case .binary(let bytes):
      keep(takesBytes(bytes.count) ? .binary(bytes) : .binary(Data()))
      offer(.binary(bytes), bytes.count)
    case .ping(let payload):
      keep(.ping(payload))
      if case .hanging = state { return }
      // No frame may follow a close frame.
      if sendsPongs, !isCloseSent { pongs += writer.pong(payload) }
    case .pong(let payload): keep(.pong(payload))
    case .close(let code, let reason):
      keep(.close(code, reason: reason))
      closeOfClient = (code, reason)
    case .part: break
    }
  }

  /// Takes bytes from those that may be recorded; returns whether there are enough.
  private func takesBytes(_ count: Int) -> Bool {
    guard count <= keptBytes else { return false }
    keptBytes -= count
    return true
  }

  private func keep(_ message: Message) { record { $0.messages.append(message) } }

  /// Stores a message for a later step, if there is one that takes messages.
  private func offer(_ message: Message, _ size: Int) {
    switch state {
    case .receiving, .echoing: break
    case .closing, .hanging: return
    case .ready, .waitingForClose: guard steps.contains(where: \.takesMessages) else { return }
    }
    inbox.append(message)
    inboxBytes += size + Self.messageCost
  }

  private func takeMessage() -> Message? {
    guard inboxStart < inbox.count else { return nil }
    let message = inbox[inboxStart]
    inboxBytes -= Self.messageCost
    switch message {
    case .text(let text): inboxBytes -= text.utf8.count
    case .binary(let bytes): inboxBytes -= bytes.count
    case .ping, .pong, .close: break
    }
    inboxStart += 1
    if inboxStart == inbox.count || inboxStart > 1024 {
      inbox.removeFirst(inboxStart)
      inboxStart = 0
    } else {
      // The memory of a large message is released at once.
      inbox[inboxStart - 1] = .text("")
    }
    return message
  }

  private func discardMessages() { (inbox, inboxStart, inboxBytes) = ([], 0, 0) }

  /// Fails the connection (RFC 6455 §7.1.7).
  private func fail(_ violation: WebSocketViolation) {
    guard !hasFailed else { return }
    hasFailed = true
    record { $0.failure = violation.message }
    discardMessages()
    if case .hanging = state { return }
    if drip == nil { pausedUntil = nil }
    steps = []
    state = .ready
    failure = violation
  }
}

// MARK: - Playing

extension WebSocketServerSession {
  func next(now: ContinuousClock.Instant) -> Action {
    while !hasOutput {
      parse()
      if let action = advance(now: now) { return action }
    }
    return .send
  }

  /// Sends the next bytes, or returns an action; `nil` if the session may continue.
  private func advance(now: ContinuousClock.Instant) -> Action? {
    if let pausedUntil, pausedUntil <= now { self.pausedUntil = nil }
    if var current = drip {
      guard pausedUntil == nil else { return .wait }
      send(current.rest.prefix(current.chunk))
      current.rest = current.rest.dropFirst(current.chunk)
      drip = current.rest.isEmpty ? nil : current
      if drip != nil { pausedUntil = now + current.interval }
      return nil
    }
    if !pongs.isEmpty {
      send(pongs)
      pongs = Data()
      return nil
    }
    if let failure {
      self.failure = nil
      guard !isCloseSent else { return .cut }
      sendClose(failure.code, reason: failure.message)
      steps = [.cut(nil)]
      return nil
    }
    if pausedUntil != nil {
      guard endsScript else { return .wait }
      (pausedUntil, steps) = (nil, [])
    }
    return advanceState(now: now)
  }

  /// Whether the script ends at a step that waits, because the client has closed.
  private var endsScript: Bool { closeOfClient != nil && !continuesAfterClose }

  private func advanceState(now: ContinuousClock.Instant) -> Action? {
    switch state {
    case .hanging: return .wait
    case .closing: return closeOfClient == nil ? .wait : .cut
    case .waitingForClose:
      guard closeOfClient != nil else { return .wait }
      state = .ready
    case .receiving(let problem):
      guard let message = takeMessage() else { return waitForMessage() }
      state = .ready
      if let reason = problem?(message) { failMismatch(reason) }
    case .echoing(let count):
      guard count != 0 else {
        state = .ready
        return nil
      }
      guard let message = takeMessage() else { return waitForMessage() }
      state = .echoing(count.map { $0 - 1 })
      if let bytes = encoded(.message(message)) { send(bytes, isEcho: true) }
    case .ready:
      // Otherwise they would count as waiting until the end of the connection.
      if !inbox.isEmpty, !steps.contains(where: \.takesMessages) { discardMessages() }
      guard let step = steps.popLast() else { return finish() }
      return play(step, now: now)
    }
    return nil
  }

  /// Waits for a message, unless the client has closed.
  private func waitForMessage() -> Action? {
    guard closeOfClient != nil else { return .wait }
    if endsScript { steps = [] }
    state = .ready
    return nil
  }

  /// Closes, because a message is not the expected one.
  private func failMismatch(_ reason: String) {
    record { $0.failure = reason }
    steps = [.close(.policyViolation, reason: reason)]
  }

  /// Completes the close handshake after the last step, or waits for the client's close frame.
  private func finish() -> Action? {
    guard let closeOfClient else { return .wait }
    guard !isCloseSent else { return .cut }
    sendClose(closeOfClient.code, reason: closeOfClient.reason)
    return nil
  }

  private func play(_ step: Step.Kind, now: ContinuousClock.Instant) -> Action? {
    switch step {
    case .message, .fragments, .ping, .pong, .frame, .bytes, .close:
      if let bytes = encoded(step) { send(bytes) }
      if step.isClose { steps.append(.finishClose) }
    case .finishClose:
      state = .closing
      discardMessages()
    case .drip(let inner, let chunk, let interval):
      guard let bytes = encoded(inner) else { return play(inner, now: now) }
      if inner.isClose { steps.append(.finishClose) }
      if !bytes.isEmpty { drip = Drip(rest: bytes, chunk: chunk, interval: interval) }
    case .cut(let inner):
      guard let inner, let bytes = encoded(inner), bytes.count > 1 else { return .cut }
      steps.append(.cut(nil))
      send(bytes.prefix(bytes.count / 2))
    case .delay(let duration): pausedUntil = now + duration
    case .receive(nil): state = .receiving(nil)
    case .receive(let expected?):
      state = .receiving {
        $0 == expected ? nil : "expected \(expected.summary), received \($0.summary)"
      }
    case .check(let problem): state = .receiving(problem)
    case .echo(let count): state = .echoing(count)
    case .waitForClose: state = .waitingForClose
    case .reset: return .reset
    case .hang:
      state = .hanging
      pongs = Data()
      discardMessages()
    }
    return nil
  }
}

// MARK: - Encoding

extension WebSocketServerSession {
  private func send(_ bytes: Data, isEcho: Bool = false) {
    (output, offset, isOutputEcho) = (bytes, 0, isEcho)
  }

  private func sendClose(_ code: WebSocketCloseCode?, reason: String) {
    isCloseSent = true
    send(writer.close(code, reason: reason))
  }

  /// The bytes of a step, or `nil` if the step sends none.
  private func encoded(_ step: Step.Kind) -> Data? {
    switch step {
    case .message(.text(let text)): return try? writer.text(text)
    case .message(.binary(let bytes)): return try? writer.binary(bytes)
    case .fragments(let parts, let isText):
      var bytes = Data()
      for (index, part) in parts.enumerated() {
        let isLast = index == parts.count - 1
        guard let frame = try? writer.part(isText ? .text : .binary, part, isLast: isLast) else { return nil }
        bytes += frame
      }
      return bytes
    case .ping(let payload): return writer.ping(payload)
    case .pong(let payload): return writer.pong(payload)
    case .frame(let frame): return frame.encoded
    case .bytes(let bytes): return bytes
    case .close(let code, let reason):
      isCloseSent = true
      return writer.close(code, reason: reason)
    case .message, .delay, .drip, .receive, .check, .echo, .finishClose, .waitForClose, .cut, .reset, .hang: return nil
    }
  }
}

extension MockWebSocket.Step.RawFrame {
  fileprivate var encoded: Data {
    var bytes = payload.withUnsafeBytes {
      FrameCoding.encode(
        .continuation, $0, isFinal: isFinal, rsv1: rsv1, rsv2: rsv2, rsv3: rsv3,
        key: isMasked ? UInt32.random(in: 1 ... .max) : nil)
    }
    // Not encoded above, because `FrameCoding` accepts only opcodes of the protocol.
    bytes[bytes.startIndex] |= opcode & 0x0F
    return bytes
  }
}

extension RecordedWebSocket.Message {
  /// The message's type and its first characters or its size.
  var summary: String {
    switch self {
    case .text(let text): "text \(Printable.text("\"\(text.prefix(40))\""))"
    case .binary(let bytes): "\(bytes.count) binary bytes"
    case .ping: "a ping"
    case .pong: "a pong"
    case .close: "a close frame"
    }
  }
}
