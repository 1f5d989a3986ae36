package import MartletBase

/// Decodes messages and control frames from chunks (RFC 6455 §5).
///
/// ```
///   append ─▶ next … next ─▶ nil ─▶ append …        an error is thrown again by later calls
///
///   FrameReader ─▶ InflateContext, if compressed ─▶ limit ─▶ UTF8Validator, if text ─▶ event
/// ```
package struct MessageReader {
  /// The form in which messages are delivered.
  package enum Delivery: Sendable {
    case messages, parts
  }

  /// The limits of received data, in bytes.
  package struct Limits: Sendable {
    package var maximumFrameBytes: Int
    /// The maximum number of bytes in a message, after decompression.
    package var maximumMessageBytes: Int

    package init(maximumFrameBytes: Int = .max, maximumMessageBytes: Int = .max) {
      self.maximumFrameBytes = maximumFrameBytes
      self.maximumMessageBytes = maximumMessageBytes
    }
  }

  /// The message that is being received.
  private struct Message {
    let kind: MessageKind
    let isCompressed: Bool
    let delivery: Delivery
    /// The number of bytes, after decompression.
    var count = 0
    var validator = UTF8Validator()
    var isFirst = true
    /// Whether the last frame has ended.
    var isEnded = false
  }

  /// The form of the next messages; the current message keeps its form.
  package var delivery: Delivery
  private let limits: Limits
  private var frames: FrameReader
  private let inflater: InflateContext?
  private var message: Message?
  /// The message's bytes that were not delivered yet.
  ///
  /// Not a part of `Message`, because a copy of the message would make each append copy all bytes.
  private var bytes = Data()
  /// Whether the inflater may contain more of the message.
  private var isInflating = false
  private var failure: WebSocketViolation?

  /// Creates a reader; `deflate` contains the negotiated parameters of compression.
  ///
  /// Without zlib, compressed messages are a violation.
  package init(
    _ role: WebSocketRole, limits: Limits = Limits(), deflate: PermessageDeflate? = nil,
    delivery: Delivery = .messages
  ) {
    self.delivery = delivery
    self.limits = limits
    inflater = deflate.flatMap { InflateContext(keepsContext: $0.keepsContext(of: role.peer)) }
    frames = FrameReader(
      role, allowsCompression: inflater != nil, maximumFrameBytes: limits.maximumFrameBytes)
  }

  /// Whether a close frame was read; all bytes after it are ignored.
  package var isClosed: Bool { frames.isClosed }

  /// Adds received bytes.
  ///
  /// Bytes that were not read yet are copied, so call it after `next()` has returned `nil`.
  package mutating func append(_ bytes: Data) { frames.append(bytes) }

  /// The next event, or `nil` if more bytes are needed.
  package mutating func next() throws(WebSocketViolation) -> WebSocketEvent? {
    if let failure { throw failure }
    do {
      return try readEvent()
    } catch {
      failure = error
      message = nil
      bytes = Data()
      throw error
    }
  }

  private mutating func readEvent() throws(WebSocketViolation) -> WebSocketEvent? {
    while true {
      if isInflating {
        if let event = try inflate() { return event }
        continue
      }
      guard let part = try frames.next() else { return nil }
      if let event = part.header.opcode.isControl ? try control(part) : try data(part) { return event }
    }
  }
}

// MARK: Messages

extension MessageReader {
  private mutating func data(_ part: FrameReader.Part) throws(WebSocketViolation) -> WebSocketEvent? {
    let header = part.header
    if header.opcode != .continuation && part.isStart {
      message = Message(
        kind: header.opcode == .text ? .text : .binary, isCompressed: header.rsv1, delivery: delivery)
    }
    guard let current = message else { return nil }
    let isEnd = part.isEnd && header.isFinal
    if current.isCompressed {
      inflater?.push(part.payload, isLast: isEnd)
      isInflating = true
      message?.isEnded = isEnd
      return nil
    }
    if part.isStart { try checkSize(current.count, adding: header.length) }
    if isEnd && current.isFirst && current.count == 0 && current.delivery == .messages {
      message = nil
      return try whole(current.kind, part.payload)
    }
    return try add(part.payload, isLast: isEnd)
  }

  private mutating func inflate() throws(WebSocketViolation) -> WebSocketEvent? {
    guard let current = message, let inflater else {
      isInflating = false
      return nil
    }
    if let bytes = try inflater.pull() {
      try checkSize(current.count, adding: bytes.count)
      return try add(bytes, isLast: false)
    }
    isInflating = false
    return current.isEnded ? try add(Data(), isLast: true) : nil
  }

  private func checkSize(_ count: Int, adding more: Int) throws(WebSocketViolation) {
    guard more > limits.maximumMessageBytes - count else { return }
    throw WebSocketViolation(
      .messageTooBig, "a message has more than \(limits.maximumMessageBytes) bytes, the limit of this connection")
  }

  /// The event of an uncompressed message whose bytes are all in one chunk.
  private func whole(_ kind: MessageKind, _ payload: Data) throws(WebSocketViolation) -> WebSocketEvent {
    // Copied, because the slice would keep the chunk in memory, and its indices do not start at 0.
    guard kind == .text else { return .binary(Self.copy(payload)) }
    let text = payload.withUnsafeBytes { String(validating: $0, as: UTF8.self) }
    guard let text else { throw Self.invalidText }
    return .text(text)
  }

  /// Adds bytes whose number was checked.
  private mutating func add(_ more: Data, isLast: Bool) throws(WebSocketViolation) -> WebSocketEvent? {
    guard var current = message else { return nil }
    current.count += more.count
    if current.kind == .text {
      let isValid = more.withUnsafeBytes { current.validator.append($0) }
      guard isValid && (!isLast || current.validator.isComplete) else { throw Self.invalidText }
    }
    // Decompressed bytes have their own memory, and most messages are complete after one step.
    if bytes.isEmpty && current.isCompressed { bytes = more } else { bytes.append(more) }
    defer { message = isLast ? nil : current }
    guard current.delivery == .parts else { return isLast ? takeMessage(current.kind) : nil }
    let partial = current.validator.partial
    guard bytes.count > partial || isLast else { return nil }
    let isFirst = current.isFirst
    current.isFirst = false
    return .part(current.kind, takeBytes(leaving: partial), isFirst: isFirst, isLast: isLast)
  }

  private mutating func takeMessage(_ kind: MessageKind) -> WebSocketEvent {
    let whole = takeBytes(leaving: 0)
    return kind == .binary ? .binary(whole) : .text(String(decoding: whole, as: UTF8.self))
  }

  /// The bytes without an incomplete character at their end.
  private mutating func takeBytes(leaving partial: Int) -> Data {
    let taken = partial == 0 ? bytes : Self.copy(bytes.dropLast(partial))
    bytes = Self.copy(bytes.suffix(partial))
    return taken
  }

  /// The bytes in their own memory, with indices from 0.
  private static func copy(_ bytes: Data) -> Data { bytes.withUnsafeBytes { Data($0) } }

  private static var invalidText: WebSocketViolation {
    WebSocketViolation(.invalidFramePayloadData, "a text message is not valid UTF-8")
  }
}

// MARK: Control frames

extension MessageReader {
  private func control(_ part: FrameReader.Part) throws(WebSocketViolation) -> WebSocketEvent? {
    switch part.header.opcode {
    case .ping: .ping(Self.copy(part.payload))
    case .pong: .pong(Self.copy(part.payload))
    case .close: try close(part.payload)
    case .continuation, .text, .binary: nil
    }
  }

  private func close(_ payload: Data) throws(WebSocketViolation) -> WebSocketEvent {
    guard let first = payload.first else { return .close(nil, reason: "") }
    guard payload.count >= 2 else {
      throw WebSocketViolation("a close frame has a payload of 1 byte; a code has 2 bytes")
    }
    let code = WebSocketCloseCode(rawValue: UInt16(first) << 8 | UInt16(payload[payload.startIndex + 1]))
    guard code.isSendable else {
      throw WebSocketViolation("a close frame has code \(code), which must not be sent")
    }
    let reason = payload.dropFirst(2).withUnsafeBytes { String(validating: $0, as: UTF8.self) }
    guard let reason else {
      throw WebSocketViolation(.invalidFramePayloadData, "a close frame's reason is not valid UTF-8")
    }
    return .close(code, reason: reason)
  }
}
