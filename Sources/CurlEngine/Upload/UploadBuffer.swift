import MartletBase
import Foundation

/// Bytes of a request body on their way from whoever makes them to the loop.
///
/// ```
///   append ─▶ pieces ─▶ take      one writer, which waits for room; the loop, which never waits but is told
///   finish ─▶ end, seen after the pieces
///   stop   ─▶ the pieces are dropped, and the writer hears of it
/// ```
final class UploadBuffer: Sendable {
  enum Taken {
    case bytes(Int)
    case end
    /// There are none now; the next ``append(_:)`` or ``finish()`` says that somebody waits.
    case none
    case stopped
  }

  /// From how many bytes on no more are asked for.
  static let capacity = 256 << 10
  /// The most bytes that are gathered into one piece.
  private static let gathered = 32 << 10

  fileprivate struct State {
    var pieces: [Data] = []
    /// The bytes of the first piece that were taken.
    var offset = 0
    var count = 0
    var isAwaited = false
    var hasEnded = false
    var isStopped = false
    /// Whether what fills it has failed, of which the loop hears in another way.
    var hasFailed = false
    var writer: CheckedContinuation<Void, Never>?
    var onStop: (@Sendable () -> Void)?
  }

  private let state = Locked(State())

  var isStopped: Bool { state.withLock { $0.isStopped } }

  /// Says what has to be done when the buffer is stopped.
  func onStop(_ action: @escaping @Sendable () -> Void) {
    let isStopped = state.withLock {
      if !$0.isStopped { $0.onStop = action }
      return $0.isStopped
    }
    if isStopped { action() }
  }

  /// Adds bytes; `true` if somebody waits for them.
  func append(_ piece: Data) -> Bool {
    state.withLock {
      guard !$0.isStopped else { return false }
      // Many small ones would need more memory than their bytes.
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

  /// Says that there will be no more bytes; `true` if somebody waits for that.
  func finish() -> Bool {
    state.withLock {
      $0.hasEnded = true
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

  /// Takes bytes, as many as there are and fit.
  func take(into target: UnsafeMutableRawBufferPointer) -> Taken {
    // What was taken is released after unlocking: its memory may be somebody else's.
    let (taken, released, writer): (Taken, [Data], CheckedContinuation<Void, Never>?) = state.withLock {
      guard !$0.isStopped else { return ($0.hasFailed ? .none : .stopped, [], nil) }
      guard $0.count > 0 else {
        $0.isAwaited = !$0.hasEnded
        return ($0.hasEnded ? .end : .none, [], nil)
      }
      let (count, released) = $0.move(to: target)
      guard $0.count <= Self.capacity / 2 else { return (.bytes(count), released, nil) }
      let writer = $0.writer
      $0.writer = nil
      return (.bytes(count), released, writer)
    }
    _ = released
    writer?.resume()
    return taken
  }

  /// Ends it: nothing is taken any more, and whoever writes hears of it; `true` if this was its end.
  ///
  /// After a failure of what fills it, its reader waits until it hears why.
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
  mutating func takeAwaited() -> Bool {
    defer { isAwaited = false }
    return isAwaited
  }

  /// Copies bytes, and returns how many and the pieces that are used up.
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
