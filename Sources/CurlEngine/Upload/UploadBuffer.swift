import MartletBase

/// Carries bytes of a request body from their writer to the loop.
///
/// ```
///   append ─▶ chunks ─▶ take      one writer, which waits for room; the loop, which never waits but is informed
///   finish ─▶ the held chunk, then the end, both seen after the chunks
///   stop   ─▶ the chunks are dropped, and the writer is informed
/// ```
final class UploadBuffer: Sendable {
  enum Taken {
    case bytes(Int)
    case end
    /// No bytes are available; the next ``append(_:)`` or ``finish()`` reports that the loop is waiting.
    case none
    case stopped
  }

  /// The number of bytes from which the writer waits.
  static let capacity = 256 << 10
  /// The maximum number of bytes that are gathered into one chunk.
  private static let gathered = 32 << 10

  fileprivate struct State {
    var pieces: [Data] = []
    /// The number of bytes taken from the first chunk.
    var offset = 0
    var count = 0
    /// The last chunk, which is taken only after the end is known.
    var held: Data?
    var isAwaited = false
    var hasEnded = false
    var isStopped = false
    /// Whether the writer has failed, which is reported to the loop separately.
    var hasFailed = false
    var writer: CheckedContinuation<Void, Never>?
    var onStop: (@Sendable () -> Void)?
  }

  private let state = Locked(State())

  var isStopped: Bool { state.withLock { $0.isStopped } }

  /// Whether no more bytes will arrive.
  var isAtEnd: Bool { state.withLock { $0.hasEnded && $0.count == 0 } }

  func onStop(_ action: @escaping @Sendable () -> Void) {
    let isStopped = state.withLock {
      if !$0.isStopped { $0.onStop = action }
      return $0.isStopped
    }
    if isStopped { action() }
  }

  /// Adds bytes; returns whether the loop waits for them.
  ///
  /// Held bytes are taken after ``finish()``.
  func append(_ piece: Data, isHeld: Bool = false) -> Bool {
    state.withLock {
      guard !$0.isStopped else { return false }
      guard !isHeld else {
        $0.held = piece
        return false
      }
      // Many small chunks would need more memory than their bytes.
      let last = $0.pieces.count - 1
      if last > 0, $0.pieces[last].count + piece.count <= Self.gathered {
        $0.pieces[last].append(piece)
      } else {
        $0.pieces.append(piece)
      }
      $0.count += piece.count
      return $0.takeAwaited()
    }
  }

  /// Records that there are no more bytes; returns whether the loop waits for that.
  func finish() -> Bool {
    state.withLock {
      guard !$0.isStopped, !$0.hasEnded else { return false }
      $0.hasEnded = true
      if let held = $0.held.take() {
        $0.pieces.append(held)
        $0.count += held.count
      }
      return $0.takeAwaited()
    }
  }

  /// Waits until there is room; throws `CancellationError` once the buffer is stopped.
  func room() async throws {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock {
        if $0.isStopped || $0.count < Self.capacity { return true }
        $0.writer = continuation
        return false
      }
      if isFree { continuation.resume() }
    }
    if isStopped { throw CancellationError() }
  }

  func take(into target: UnsafeMutableRawBufferPointer) -> Taken {
    // Used chunks are released after unlocking, because their memory may belong to other code.
    let (taken, released, writer): (Taken, [Data], CheckedContinuation<Void, Never>?) = state.withLock {
      guard !$0.isStopped else { return ($0.hasFailed ? .none : .stopped, [], nil) }
      guard $0.count > 0 else {
        $0.isAwaited = !$0.hasEnded
        return ($0.hasEnded ? .end : .none, [], nil)
      }
      let (count, released) = $0.move(to: target)
      guard $0.count <= Self.capacity / 2 else { return (.bytes(count), released, nil) }
      return (.bytes(count), released, $0.writer.take())
    }
    _ = released
    writer?.resume()
    return taken
  }

  /// Stops the buffer and notifies the writer; returns whether it was not stopped before.
  ///
  /// No more bytes are taken. After a failure of the writer, the reader waits until it learns the reason.
  @discardableResult
  func stop(isFailure: Bool = false) -> Bool {
    let old: State? = state.withLock { state in
      guard !state.isStopped else { return nil }
      defer { state = State(isStopped: true, hasFailed: isFailure) }
      return state
    }
    old?.onStop?()
    old?.writer?.resume()
    return old != nil
  }
}

extension UploadBuffer.State {
  mutating func takeAwaited() -> Bool { exchange(&isAwaited, with: false) }

  /// Copies bytes; returns their number and the used chunks.
  mutating func move(to target: UnsafeMutableRawBufferPointer) -> (Int, [Data]) {
    var filled = 0
    var used = 0
    while used < pieces.count, filled < target.count {
      let piece = pieces[used]
      let start = piece.startIndex + offset
      let length = min(piece.count - offset, target.count - filled)
      piece.copyBytes(to: UnsafeMutableRawBufferPointer(rebasing: target[filled...]), from: start..<(start + length))
      filled += length
      offset += length
      guard offset == piece.count else { break }
      used += 1
      offset = 0
    }
    count -= filled
    let released = Array(pieces[..<used])
    pieces.removeFirst(used)
    return (filled, released)
  }
}
