import MartletBase
import Foundation

/// Gathers the bytes of one large body into pieces, in memory that is used again once their reader has released them.
///
/// New memory for each piece would cost more than the copying: the system has to clear every page of it.
///
/// Touched under the lock of its loop.
final class PieceGatherer {
  /// How much is handed over at once, if it comes fast enough.
  static let pieceSize = 256 << 10
  /// Smaller ones are copied into memory of their own: who keeps them must not keep so much more.
  private static let smallPiece = pieceSize / 2

  private let blocks = PieceBlocks()
  private var block: UnsafeMutableRawPointer?
  private var count = 0

  deinit {
    if let block { blocks.give(block) }
    blocks.close()
  }

  var isEmpty: Bool { count == 0 }

  /// Adds bytes; returns a piece that is full by that.
  func add(_ bytes: UnsafeRawBufferPointer) -> Data? {
    guard let source = bytes.baseAddress else { return nil }
    guard count + bytes.count <= PieceBlocks.size else {
      // libcurl never brings so much at once.
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

  /// Takes what there is, or returns `nil`.
  func take() -> Data? {
    guard let block, count > 0 else { return nil }
    defer { count = 0 }
    guard count >= Self.smallPiece else { return Data(bytes: block, count: count) }
    self.block = nil
    return Data(
      bytesNoCopy: block, count: count, deallocator: .custom { [blocks] block, _ in blocks.give(block) })
  }
}

/// The memory of one body's pieces; when the body is over, only what readers still have is left of it.
private final class PieceBlocks: Sendable {
  private struct State {
    var free: [UInt] = []
    var isClosed = false
  }

  /// A piece that is just not full, and what libcurl brings next.
  static let size = PieceGatherer.pieceSize + (16 << 10)
  /// One that is filled, while the reader has another one, and a third waits for it.
  private static let maximumFree = 2

  private let state = Locked(State())

  func take() -> UnsafeMutableRawPointer {
    let used = state.withLock { $0.free.popLast() }.flatMap { UnsafeMutableRawPointer(bitPattern: $0) }
    return used ?? .allocate(byteCount: Self.size, alignment: 16)
  }

  /// Takes back, from any thread, what ``take()`` gave.
  func give(_ block: UnsafeMutableRawPointer) {
    let number = UInt(bitPattern: block)
    let isKept = state.withLock {
      guard !$0.isClosed, $0.free.count < Self.maximumFree else { return false }
      $0.free.append(number)
      return true
    }
    if !isKept { block.deallocate() }
  }

  /// Keeps nothing from now on.
  func close() {
    let free = state.withLock { state in
      state.isClosed = true
      defer { state.free = [] }
      return state.free
    }
    for block in free { UnsafeMutableRawPointer(bitPattern: block)?.deallocate() }
  }
}
