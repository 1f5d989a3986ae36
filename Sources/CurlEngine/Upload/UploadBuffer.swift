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
  fileprivate static let gathered = 32 << 10

  fileprivate struct State {
    var pieces: [Data] = []
    /// The number of bytes taken from the first chunk.
    var offset = 0
    var count = 0
    var takenCount: Int64 = 0
    /// The last chunk, which is taken only after the end is known.
    var held: Data?
    var isAwaited = false
    var hasEnded = false
    var isStopped = false
    /// Whether the writer has failed, which is reported to the loop separately.
    var hasFailed = false
    var writer: CheckedContinuation<Void, Never>?
    /// Called once when there is room, or after the stop.
    var onRoom: [@Sendable () -> Void] = []
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

  var hasRoom: Bool { state.withLock { $0.hasRoom } }

  /// The number of bytes that the loop has taken.
  var takenCount: Int64 { state.withLock { $0.takenCount } }

  /// Whether the loop has to wait for bytes; the next ones, or the end, report that it does.
  func awaitsBytes() -> Bool {
    state.withLock {
      guard $0.count == 0, !$0.hasEnded, !$0.isStopped else { return false }
      $0.isAwaited = true
      return true
    }
  }

  enum Written {
    case added
    /// The loop waits for the bytes.
    case awaited
    /// The buffer was stopped or finished before.
    case refused
  }

  /// Adds bytes of one of several writers, even without room.
  func write(_ bytes: Data) -> Written {
    state.withLock {
      guard !$0.isStopped, !$0.hasEnded else { return .refused }
      $0.add(bytes)
      return $0.takeAwaited() ? .awaited : .added
    }
  }

  /// Calls `action` once there is room, or once the buffer is stopped.
  func onRoom(_ action: @escaping @Sendable () -> Void) {
    let isNow = state.withLock {
      if $0.isStopped || $0.hasRoom { return true }
      $0.onRoom.append(action)
      return false
    }
    if isNow { action() }
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
      $0.add(piece)
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
        if $0.isStopped || $0.hasRoom { return true }
        $0.writer = continuation
        return false
      }
      if isFree { continuation.resume() }
    }
    if isStopped { throw CancellationError() }
  }

  func take(into target: UnsafeMutableRawBufferPointer) -> Taken {
    // Used chunks are released after unlocking, because their memory may belong to other code.
    typealias Waiting = (writer: CheckedContinuation<Void, Never>?, onRoom: [@Sendable () -> Void])
    let (taken, released, waiting): (Taken, [Data], Waiting?) = state.withLock {
      guard !$0.isStopped else { return ($0.hasFailed ? .none : .stopped, [], nil) }
      guard $0.count > 0 else {
        $0.isAwaited = !$0.hasEnded
        return ($0.hasEnded ? .end : .none, [], nil)
      }
      let (count, released) = $0.move(to: target)
      guard $0.count <= Self.capacity / 2 else { return (.bytes(count), released, nil) }
      return (.bytes(count), released, ($0.writer.take(), exchange(&$0.onRoom, with: [])))
    }
    _ = released
    if let waiting {
      waiting.writer?.resume()
      for action in waiting.onRoom { action() }
    }
    return taken
  }

  /// Stops the buffer and notifies the writer; returns whether it was not stopped before.
  ///
  /// No more bytes are taken. After a failure of the writer, the reader waits until it learns the reason.
  @discardableResult
  func stop(isFailure: Bool = false) -> Bool {
    let old: State? = state.withLock { state in
      guard !state.isStopped else { return nil }
      defer { state = State(takenCount: state.takenCount, isStopped: true, hasFailed: isFailure) }
      return state
    }
    old?.onStop?()
    old?.writer?.resume()
    for action in old?.onRoom ?? [] { action() }
    return old != nil
  }
}

extension UploadBuffer.State {
  var hasRoom: Bool { count < UploadBuffer.capacity }

  mutating func add(_ piece: Data) {
    // Many small chunks would need more memory than their bytes.
    let last = pieces.count - 1
    if last > 0, pieces[last].count + piece.count <= UploadBuffer.gathered {
      pieces[last].append(piece)
    } else {
      pieces.append(piece)
    }
    count += piece.count
  }

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
    takenCount += Int64(filled)
    let released = Array(pieces[..<used])
    pieces.removeFirst(used)
    return (filled, released)
  }
}
