import CMartletShim
import Dispatch
package import MartletBase
import Synchronization

/// The body of one request, read once, without ever blocking the loop.
///
/// Bytes in memory are copied to libcurl. A file is read directly if its bytes are in the system's cache, otherwise by
/// another thread. A task reads a stream. It begins when libcurl first requests bytes, so a request that fails
/// before does not use up a body that can be sent only once.
///
/// `@unchecked Sendable`: after its creation, the upload is used only under the loop's lock. Exceptions are ``stop()``,
/// ``isUnread`` and the constant, locked or atomic state that the task and the other thread use.
package final class CurlUpload: @unchecked Sendable {
  enum Piece {
    case bytes(Int)
    /// No bytes are available yet; `onBytes` is called when there are some.
    case wait
    case failed(CurlFailure)
  }

  package enum Source {
    case data(Data)
    /// A descriptor, which is closed at the end.
    case file(CInt)
    case stream(any UploadStream)
    /// The bytes of ``write(_:)``, for an upgraded connection.
    case writes
  }

  /// The number of bytes of a file that another thread reads at a time.
  private static let block = 1 << 20

  /// How long libcurl waits for `100 Continue`, in microseconds.
  package static let leavePatience: Int64 = 1_000_000

  /// How long a stream with all announced bytes may stay open before the last of them are sent.
  private static let endPatience = DispatchTimeInterval.milliseconds(50)

  let length: Int64?
  private let source: Source
  let trailers: CurlTrailers?
  private let buffer = UploadBuffer()
  /// The number of bytes given to libcurl.
  private(set) var offset: Int64 = 0
  /// The rest of the body that precedes an upgrade.
  private(set) var bodyRest = 0
  private var hasEnded = false
  private var isStarted = false
  /// Whether another thread reads the next block.
  ///
  /// libcurl may request bytes again although it must wait.
  private var isFetching = false
  /// When the wait for `100 Continue` began, until it ends.
  private var askedAt: Int64?
  private var onSilence: (@Sendable () -> Void)?
  private let wasRead = Atomic(false)
  private var onBytes: @Sendable () -> Void = {}
  private var onFailure: @Sendable (any Error) -> Void = { _ in }
  private var onReceive: @Sendable () -> Bool = { false }

  package init(_ source: Source, length: Int64?, trailers: CurlTrailers? = nil) {
    (self.source, self.length, self.trailers) = (source, length, trailers)
  }

  /// Creates the upload of an upgraded connection, whose writes follow the body of the request.
  package convenience init(writesAfter body: Data) {
    self.init(.writes, length: nil)
    _ = buffer.write(body)
    bodyRest = body.count
  }

  deinit { if case .file(let file) = source { martlet_close(file) } }

  /// Sets the callbacks for bytes after ``Piece/wait``, for an error, and for ``receiveHere()``.
  ///
  /// Call it before anything else.
  func attach(
    onBytes: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (any Error) -> Void,
    onReceive: @escaping @Sendable () -> Bool = { false }
  ) {
    self.onBytes = onBytes
    self.onFailure = onFailure
    self.onReceive = onReceive
  }

  /// Sets the callback for a server that does not respond to `Expect` in time.
  package func addsExpect(onSilence: @escaping @Sendable () -> Void) { self.onSilence = onSilence }

  /// Whether the bytes never have to be waited for.
  var isInMemory: Bool { if case .data = source, case nil = onSilence { true } else { false } }

  func willBeAsked() { if onSilence != nil { askedAt = martlet_microseconds() } }

  /// Whether libcurl has not requested any bytes yet; from any thread.
  package var isUnread: Bool { !wasRead.load(ordering: .acquiring) }

  /// Records that libcurl requests bytes, after `100 Continue` or its timeout.
  func recordAnswer() {
    wasRead.store(true, ordering: .releasing)
    guard let askedAt = askedAt.take() else { return }
    if martlet_microseconds() - askedAt >= Self.leavePatience { onSilence?() }
  }

  var isAtEnd: Bool { hasEnded || offset == length }

  var isAtStart: Bool { offset == 0 }

  /// Whether the next `count` bytes may be the last ones.
  func mayEnd(within count: Int) -> Bool { length.map { $0 - offset <= count } ?? buffer.isAtEnd }

  /// Whether a body without bytes has ended; if not, ask again after `onBytes`.
  ///
  /// A stopped upload never has: the server would accept a request without a body.
  func isKnownToBeEmpty() -> Bool {
    if case .bytes = read(into: UnsafeMutableRawBufferPointer(start: nil, count: 0)) { true } else { false }
  }

  /// Stops the upload; from any thread.
  func stop() { buffer.stop() }

  /// Reads the next bytes; 0 at the end.
  func read(into target: UnsafeMutableRawBufferPointer) -> Piece {
    switch source {
    case .data(let data):
      let count = min(target.count, data.count - Int(offset))
      let start = data.startIndex + Int(offset)
      data.copyBytes(to: target, from: start..<(start + count))
      offset += Int64(count)
      return .bytes(count)
    case .file(let file): return read(file, into: target)
    case .stream(let stream):
      if !isStarted { start(stream) }
      return take(into: target)
    case .writes: return take(into: target)
    }
  }

  private func take(into target: UnsafeMutableRawBufferPointer) -> Piece {
    switch buffer.take(into: target) {
    case .bytes(let count):
      offset += Int64(count)
      bodyRest -= min(bodyRest, count)
      return .bytes(count)
    case .end:
      hasEnded = true
      return .bytes(0)
    case .none: return .wait
    // This must not look like the end, because the server would accept the request.
    case .stopped: return .failed(.uploadStopped)
    }
  }

  // MARK: Writes

  /// Whether bytes can be written without a wait.
  package var hasRoom: Bool { buffer.hasRoom }

  /// Adds bytes, even without room; returns `false` once the connection has ended or the writer has finished.
  package func write(_ bytes: Data) -> Bool {
    switch buffer.write(bytes) {
    case .refused: return false
    case .awaited: onBytes()
    case .added: break
    }
    return true
  }

  /// Whether there is nothing to send; the next bytes, or the end, call `onBytes`.
  func awaitsBytes() -> Bool { buffer.awaitsBytes() }

  /// Calls `action` once there is room, or the connection has ended.
  package func onRoom(_ action: @escaping @Sendable () -> Void) { buffer.onRoom(action) }

  /// The number of bytes that libcurl has taken, from any thread.
  package var takenCount: Int64 { buffer.takenCount }

  /// Receives the next bytes of an upgraded connection on this thread, if they are likely to arrive soon.
  ///
  /// Waits for no longer than ``InlineWaitHeuristic/patience``. Returns whether it waited.
  package func receiveHere() -> Bool { onReceive() }

  /// Ends the client's side of an upgraded connection after the written bytes.
  package func finish() { if buffer.finish() { onBytes() } }

  // MARK: Streams

  /// Starts the task that reads a stream, no faster than its bytes are taken.
  ///
  /// The bytes that complete the length also complete the request, so they are sent when the stream has ended and not
  /// had too many. A stream may stay open after them, such as a connection on which the peer waits for the response:
  /// then they are sent after ``endPatience``.
  private func start(_ stream: any UploadStream) {
    isStarted = true
    stream.begin()
    let task = Task { [buffer, onBytes, onFailure, trailers, length] in
      let finish: @Sendable () -> Void = { if buffer.finish() { onBytes() } }
      let finishSoon = { DispatchQueue.global().asyncAfter(deadline: .now() + Self.endPatience, execute: finish) }
      var rest = length
      do {
        if rest == 0 { finishSoon() }
        try await stream.send { piece in
          rest = rest.map { $0 - Int64(piece.count) }
          if buffer.append(piece, isHeld: rest == 0) { onBytes() }
          if rest == 0 { finishSoon() }
          try await buffer.room()
        }
        try await trailers?.make()
        finish()
      } catch {
        // An error after the upload was stopped does not matter.
        if buffer.stop(isFailure: true) { onFailure(error) }
      }
    }
    // On a queue, because cancelling runs handlers of the stream, and the loop may be the thread that stops it.
    buffer.onStop { DispatchQueue.global().async { task.cancel() } }
  }

  // MARK: Files

  private func read(_ file: CInt, into target: UnsafeMutableRawBufferPointer) -> Piece {
    let rest = (length ?? 0) - offset
    let count = Int(clamping: min(Int64(target.count), rest))
    guard count > 0, let base = target.baseAddress else { return .bytes(0) }
    let taken = take(into: target)
    guard case .wait = taken else {
      isFetching = false
      return taken
    }
    if isFetching { return .wait }
    let got = martlet_read_now(file, base, count, offset)
    guard got > 0 else {
      fetch(file, at: offset, count: Int(clamping: min(Int64(Self.block), rest)))
      return .wait
    }
    if let problem = problem(file, got, at: offset) { return .failed(problem) }
    offset += got
    return .bytes(Int(got))
  }

  /// Reads a block on another thread, because an immediate read failed.
  ///
  /// Usually the block is not in the system's cache.
  private func fetch(_ file: CInt, at offset: Int64, count: Int) {
    isFetching = true
    DispatchQueue.global(qos: .userInitiated).async { [self] in
      guard !buffer.isStopped else { return }
      var block = Data(count: count)
      let got = block.withUnsafeMutableBytes { bytes in
        bytes.baseAddress.map { martlet_read(file, $0, bytes.count, offset) } ?? -1
      }
      if let problem = problem(file, got, at: offset) {
        if buffer.stop(isFailure: true) { onFailure(problem) }
        return
      }
      if buffer.append(block.prefix(Int(got))) { onBytes() }
    }
  }

  /// The problem with a chunk of a file, which may be the last one.
  private func problem(_ file: CInt, _ got: Int64, at offset: Int64) -> CurlFailure? {
    if got < 0 { return .bodyFile("the body file could not be read") }
    if got == 0 { return .bodyFile("the body file shrank while it was being sent") }
    // Checked before the last bytes are sent, because they would complete the request.
    let end = offset + got
    var beyond: UInt8 = 0
    guard end == length, martlet_read(file, &beyond, 1, end) > 0 else { return nil }
    return .bodyFile("the body file grew while it was being sent")
  }
}

package protocol UploadStream: AnyObject, Sendable {
  func begin()
  /// Reads the stream to its end.
  ///
  /// `take` receives each chunk that is not empty. The next chunk is requested when `take` has returned.
  func send(to take: (Data) async throws -> Void) async throws
}
