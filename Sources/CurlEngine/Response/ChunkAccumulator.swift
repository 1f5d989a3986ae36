import MartletBase

/// Gathers the bytes of one large body into chunks, in reused memory.
///
/// New memory for each chunk would cost more than copying, because the system must clear every page. A chunk's memory
/// is reused once its reader has released it.
///
/// Used under the loop's lock.
final class ChunkAccumulator {
  /// The size of a chunk that is delivered at once, if it arrives fast enough.
  static let pieceSize = 256 << 10
  /// The size below which a chunk is copied, so keeping it does not keep a whole block.
  private static let smallPiece = pieceSize / 2

  private let blocks = ChunkBuffers()
  private var block: UnsafeMutableRawPointer?
  private var count = 0

  deinit {
    if let block { blocks.give(block) }
    blocks.close()
  }

  var isEmpty: Bool { count == 0 }

  /// Adds bytes; returns a chunk if it is full.
  func add(_ bytes: UnsafeRawBufferPointer) -> Data? {
    guard let source = bytes.baseAddress else { return nil }
    guard count + bytes.count <= ChunkBuffers.size else {
      // libcurl never delivers that many bytes at once.
      var whole = take() ?? Data()
      whole.append(contentsOf: bytes)
      return whole
    }
    let target = block ?? blocks.take()
    block = target
    target.advanced(by: count).copyMemory(from: source, byteCount: bytes.count)
    count += bytes.count
    return count >= Self.pieceSize ? take() : nil
  }

  func take() -> Data? {
    guard let block, count > 0 else { return nil }
    defer { count = 0 }
    guard count >= Self.smallPiece else { return Data(bytes: block, count: count) }
    self.block = nil
    return Data(
      bytesNoCopy: block, count: count, deallocator: .custom { [blocks] block, _ in blocks.give(block) })
  }
}

/// The memory of one body's chunks.
///
/// After the end of the body, only the blocks that readers still hold remain.
private final class ChunkBuffers: Sendable {
  private struct State: ~Copyable {
    var free: [UInt] = []
    var isClosed = false
  }

  /// An almost full chunk, and libcurl's next delivery.
  static let size = ChunkAccumulator.pieceSize + (16 << 10)
  /// One block is filled while the reader holds another, and a third waits for the reader.
  private static let maximumFree = 2

  private let state = Locked(State())

  func take() -> UnsafeMutableRawPointer {
    let used = state.withLock { $0.free.popLast() }.flatMap { UnsafeMutableRawPointer(bitPattern: $0) }
    return used ?? .allocate(byteCount: Self.size, alignment: 16)
  }

  /// Accepts a block that ``take()`` returned, from any thread.
  func give(_ block: UnsafeMutableRawPointer) {
    let number = UInt(bitPattern: block)
    let isKept = state.withLock {
      guard !$0.isClosed, $0.free.count < Self.maximumFree else { return false }
      $0.free.append(number)
      return true
    }
    if !isKept { block.deallocate() }
  }

  /// Frees the unused blocks, and later each returned block.
  func close() {
    let free = state.withLock { state in
      state.isClosed = true
      return exchange(&state.free, with: [])
    }
    for block in free { UnsafeMutableRawPointer(bitPattern: block)?.deallocate() }
  }
}
