import CMartletShim
package import MartletBase

/// Decompresses the messages of one direction in steps of bounded size (RFC 7692 §7.2.2).
///
/// ```
///   push ─▶ pull … pull ─▶ nil ─▶ push …      push(isLast) ─▶ pull … pull ─▶ nil: the message's end
/// ```
///
/// The window always has 15 bits, so any window of the peer is accepted.
package final class InflateContext {
  /// The maximum number of bytes returned at a time.
  package static let stepSize = 64 << 10

  private let stream: UnsafeMutableRawPointer
  private let keepsContext: Bool
  private var input = Data()
  private var isLast = false
  /// Whether the message contains compressed bytes.
  private var hasBytes = false
  private var hasTail = false
  /// Whether the next step may return bytes or an error without input, because the output was full.
  private var mayContinue = false
  /// The number of bytes of the message so far.
  private var count = 0
  /// The number of bytes of the previous message, because many servers send messages of similar sizes.
  private var expectedCount = 0
  /// Whether the last step ended after a final block (RFC 7692 §7.2.3.5).
  private var hasEnded = false

  /// Creates a context; returns `nil` if zlib is missing.
  package init?(keepsContext: Bool) {
    guard let stream = martlet_inflater_new(-15) else { return nil }
    self.stream = stream
    self.keepsContext = keepsContext
  }

  deinit { martlet_inflater_free(stream) }

  /// Adds compressed bytes; requires that nothing is left to pull.
  package func push(_ bytes: Data, isLast: Bool) {
    input = bytes
    hasBytes = hasBytes || !bytes.isEmpty
    self.isLast = isLast
  }

  /// At most 64 KiB of the message, or `nil` if all bytes are decompressed.
  package func pull() throws(WebSocketViolation) -> Data? {
    while true {
      if input.isEmpty && !mayContinue {
        guard isLast else { return nil }
        // A final block at the end of a message needs no tail. Without any bytes, the tail alone would be invalid.
        if hasTail || hasEnded || !hasBytes { return try finish() }
        hasTail = true
        input = Data(DeflateContext.tail)
      }
      if let output = try step() { return output }
    }
  }

  private func step() throws(WebSocketViolation) -> Data? {
    if hasEnded {
      guard martlet_inflater_resume(stream) else { throw Self.corrupt }
      hasEnded = false
    }
    // Most texts shrink to a quarter or less, but many are small.
    let capacity = mayContinue ? Self.stepSize : min(max(input.count * 4, expectedCount, 256), Self.stepSize)
    var taken = input.count
    var made = capacity
    let memory = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
    let target = memory.assumingMemoryBound(to: UInt8.self)
    let code = input.withUnsafeBytes { bytes in
      let source = bytes.bindMemory(to: UInt8.self).baseAddress ?? UnsafePointer(target)
      return martlet_inflate(stream, source, &taken, target, &made)
    }
    let output = Self.data(memory, count: made, of: capacity)
    // The bytes before a corrupt block are returned first, because another rule may reject them.
    guard code >= 0 || made > 0 else { throw Self.corrupt }
    // A stream that neither consumes nor produces anything would never finish.
    guard code == 1 || taken > 0 || made > 0 || mayContinue else { throw Self.corrupt }
    input = input.dropFirst(taken)
    count += made
    hasEnded = code == 1
    mayContinue = code < 0 || code == 0 && made == capacity
    return output
  }

  private func finish() throws(WebSocketViolation) -> Data? {
    guard !hasBytes || hasEnded || martlet_inflater_is_between_blocks(stream) else {
      throw WebSocketViolation(.invalidFramePayloadData, "a compressed message is truncated")
    }
    (expectedCount, count) = (count, 0)
    hasBytes = false
    hasTail = false
    isLast = false
    guard keepsContext || martlet_inflater_reset(stream) else { throw Self.corrupt }
    if !keepsContext { hasEnded = false }
    return nil
  }

  /// Takes over the memory of the bytes, or copies them if they fill at most half of it.
  private static func data(_ memory: UnsafeMutableRawPointer, count: Int, of capacity: Int) -> Data? {
    if count > capacity / 2 {
      return Data(bytesNoCopy: memory, count: count, deallocator: .custom { memory, _ in memory.deallocate() })
    }
    defer { memory.deallocate() }
    return count > 0 ? Data(bytes: memory, count: count) : nil
  }

  private static var corrupt: WebSocketViolation {
    WebSocketViolation(.invalidFramePayloadData, "a compressed message is corrupt")
  }
}
