package import MartletBase

/// Decodes frames from chunks, and checks all rules that need no payload (RFC 6455 §5).
///
/// ```
///   append ─▶ next … next ─▶ nil ─▶ append …        an error is thrown again by later calls
/// ```
///
/// A payload is a slice of its chunk, unless it was masked. Nothing is allocated for an announced length.
package struct FrameReader {
  /// Payload bytes of one frame.
  ///
  /// A control frame always has one part.
  struct Part {
    let header: FrameHeader
    let payload: Data
    let isStart: Bool
    let isEnd: Bool
  }

  /// The end that reads, and expects frames from its peer.
  package let role: WebSocketRole
  /// Whether the first frame of a message may be marked as compressed.
  let allowsCompression: Bool
  /// The maximum number of payload bytes in a frame.
  package let maximumFrameBytes: Int

  private var chunk = Data()
  private var position = 0
  /// The bytes of a header that is not complete.
  private var partialHeader = Data()
  private var header: FrameHeader?
  /// The number of payload bytes that were already returned or collected.
  private var passed = 0
  /// The payload of a control frame that is not complete.
  private var control = Data()
  private var isInsideMessage = false
  private var failure: WebSocketViolation?
  /// The frame that `nextFrame()` has not completed.
  private var frame: WebSocketFrame?
  /// Whether a close frame was read; all bytes after it are ignored.
  package private(set) var isClosed = false

  package init(_ role: WebSocketRole, allowsCompression: Bool = false, maximumFrameBytes: Int = .max) {
    self.role = role
    self.allowsCompression = allowsCompression
    self.maximumFrameBytes = maximumFrameBytes
  }

  /// Adds received bytes.
  ///
  /// Bytes that were not read yet are copied, so call it after `next()` has returned `nil`.
  package mutating func append(_ bytes: Data) {
    guard !isClosed, failure == nil else { return }
    if position == chunk.endIndex {
      chunk = bytes
      position = bytes.startIndex
    } else {
      chunk.append(bytes)
    }
  }

  /// The next whole frame, or `nil` if more bytes are needed.
  ///
  /// Do not mix calls with those of a `MessageReader`.
  package mutating func nextFrame() throws(WebSocketViolation) -> WebSocketFrame? {
    while let part = try next() {
      let header = part.header
      if part.isStart && part.isEnd { return WebSocketFrame(header, part.payload) }
      // A control frame between the parts of another frame is a single part, so `frame` is always the part's frame.
      if part.isStart { frame = WebSocketFrame(header, Data()) }
      frame?.payload.append(part.payload)
      if part.isEnd, let frame = frame.take() { return frame }
    }
    return nil
  }

  /// The next bytes of a frame, or `nil` if more bytes are needed.
  mutating func next() throws(WebSocketViolation) -> Part? {
    if let failure { throw failure }
    do {
      let part = try readPart()
      // An idle connection keeps no memory of its last chunk.
      if part == nil && position == chunk.endIndex { release() }
      return part
    } catch {
      failure = error
      release()
      throw error
    }
  }

  private mutating func release() {
    chunk = Data()
    position = 0
  }

  private mutating func readPart() throws(WebSocketViolation) -> Part? {
    guard !isClosed else { return nil }
    var isStart = false
    if header == nil {
      guard let found = try readHeader() else { return nil }
      header = found
      passed = 0
      isStart = true
    }
    guard let header else { return nil }
    let isWhole = chunk.endIndex - position >= header.length - passed
    // The first part is returned even without payload, so a message that is too large fails early.
    guard isWhole || isStart || position < chunk.endIndex else { return nil }
    let payload = takePayload(header)
    if header.opcode.isControl {
      guard let whole = collect(payload, isWhole: isWhole) else { return nil }
      finish(header)
      return Part(header: header, payload: whole, isStart: true, isEnd: true)
    }
    if isWhole { finish(header) }
    return Part(header: header, payload: payload, isStart: isStart, isEnd: isWhole)
  }

  /// The available payload without its mask.
  private mutating func takePayload(_ header: FrameHeader) -> Data {
    let count = min(header.length - passed, chunk.endIndex - position)
    let slice = chunk[position..<position + count]
    let offset = passed
    position += count
    passed += count
    guard let mask = header.mask, count > 0 else { return slice }
    var unmasked = Data(count: count)
    unmasked.withUnsafeMutableBytes { target in
      slice.withUnsafeBytes { mask.apply(to: $0, into: target, at: offset) }
    }
    return unmasked
  }

  private mutating func collect(_ payload: Data, isWhole: Bool) -> Data? {
    if control.isEmpty && isWhole { return payload }
    control.append(payload)
    return isWhole ? control : nil
  }

  private mutating func finish(_ header: FrameHeader) {
    self.header = nil
    control = Data()
    if header.opcode == .close {
      isClosed = true
      release()
    } else if !header.opcode.isControl {
      isInsideMessage = !header.isFinal
    }
  }
}

extension FrameReader {
  private mutating func readHeader() throws(WebSocketViolation) -> FrameHeader? {
    if partialHeader.isEmpty {
      if let found = try rules.parse(chunk[position...]) {
        position += found.size
        return found
      }
    }
    // At most 14 bytes, so this loop is short.
    while position < chunk.endIndex {
      partialHeader.append(chunk[position])
      position += 1
      if let found = try rules.parse(partialHeader) {
        partialHeader = Data()
        return found
      }
    }
    return nil
  }

  private var rules: FrameRules {
    FrameRules(
      role: role, allowsCompression: allowsCompression, isInsideMessage: isInsideMessage,
      maximumFrameBytes: maximumFrameBytes)
  }
}

extension WebSocketFrame {
  fileprivate init(_ header: FrameHeader, _ payload: Data) {
    self.init(header.opcode, payload, isFinal: header.isFinal, rsv1: header.rsv1)
  }
}
