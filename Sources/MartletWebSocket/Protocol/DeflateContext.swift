import CMartletShim
package import MartletBase

/// Compresses the messages of one direction (RFC 7692 §7.2.1).
package final class DeflateContext {
  /// The smallest window that zlib supports.
  package static let smallestWindowBits = 9
  private static let stepSize = 16 << 10
  /// The bytes that end each flush, and that each message omits.
  static let tail: [UInt8] = [0, 0, 0xFF, 0xFF]

  private let stream: UnsafeMutableRawPointer
  /// Whether a message can refer to previous messages.
  private let keepsContext: Bool

  /// Whether compression is available on this system.
  package static var isUsable: Bool { martlet_zlib_is_usable() }

  /// Creates a context; returns `nil` if zlib is missing, or the window is not from 9 to 15 bits.
  ///
  /// A peer that allows only 8 bits must receive uncompressed messages.
  package init?(windowBits: Int, keepsContext: Bool, level: Int = 6, memoryLevel: Int = 8) {
    guard Self.smallestWindowBits...15 ~= windowBits, 1...9 ~= level, 1...9 ~= memoryLevel,
      let stream = martlet_deflater_new_raw(CInt(level), CInt(windowBits), CInt(memoryLevel))
    else { return nil }
    self.stream = stream
    self.keepsContext = keepsContext
  }

  deinit { martlet_deflater_free(stream) }

  package func compress(_ bytes: Data, isLast: Bool = true) throws(WebSocketViolation) -> Data {
    guard let output = bytes.withUnsafeBytes({ compress($0, isLast: isLast) }) else { throw Self.failure }
    return output
  }

  package func compress(_ text: String, isLast: Bool = true) throws(WebSocketViolation) -> Data {
    guard let output = FrameCoding.withUTF8(of: text, { compress($0, isLast: isLast) }) else { throw Self.failure }
    return output
  }

  /// Compresses the next bytes of a message, and flushes them.
  private func compress(_ bytes: UnsafeRawBufferPointer, isLast: Bool) -> Data? {
    var output = Data()
    if !bytes.isEmpty {
      guard let flushed = flush(bytes) else { return nil }
      output = flushed
    }
    guard isLast else { return output }
    if output.isEmpty {
      // An empty block without its tail (RFC 7692 §7.2.3.6).
      output = Data([0])
    } else if output.suffix(Self.tail.count).elementsEqual(Self.tail) {
      output.removeLast(Self.tail.count)
    } else {
      return nil
    }
    return keepsContext || martlet_deflater_reset(stream) ? output : nil
  }

  private func flush(_ bytes: UnsafeRawBufferPointer) -> Data? {
    // Most messages are smaller than their bound, and need one step.
    let bound = min(bytes.count + bytes.count / 1000 + 64, Self.stepSize)
    var output = Data()
    var offset = 0
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: bound) { scratch -> Data? in
      guard let source = bytes.bindMemory(to: UInt8.self).baseAddress, let target = scratch.baseAddress else {
        return nil
      }
      while true {
        var taken = bytes.count - offset
        var made = scratch.count
        guard martlet_deflate_flush(stream, source + offset, &taken, target, &made) >= 0 else { return nil }
        offset += taken
        output.append(target, count: made)
        if made < scratch.count { return offset == bytes.count ? output : nil }
      }
    }
  }

  private static var failure: WebSocketViolation {
    WebSocketViolation(.internalServerError, "zlib failed to compress a message")
  }
}
