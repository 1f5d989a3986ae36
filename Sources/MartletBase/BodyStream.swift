/// Carries one response body from a transport's thread to one reader.
///
/// ```
///   append ─▶ buffer ─▶ next / collect        one reader, one waiting continuation at most
///   finish ─▶ end, seen after the buffer is empty
///   abort  ─▶ end at once, the buffer is dropped
///   abandon ◀─ the reader has left: the source ends the exchange
/// ```
package final class BodyStream: Sendable {
  /// The origin of the bytes; held until the end.
  package protocol Source: AnyObject, Sendable {
    /// The reader has taken a chunk, or collects and so has room for all bytes.
    func readerHasRoom()
    /// The reader needs no more bytes, before the end; called once.
    func readerDidCancel()
  }

  /// The error of a second reader, which reads at the same time as the first one.
  package struct HasReader: Error { package init() {} }

  fileprivate enum Waiter {
    case piece(Suspension<Data?>)
    case whole(limit: Int, Suspension<(Data, Bool)>)
  }

  fileprivate enum End {
    case finished
    case failed(any Error)
  }

  fileprivate struct State: ~Copyable {
    var buffer = Data()
    /// Holds the bytes of a large collected body in place of `buffer`.
    var memory = BodyMemory()
    /// Large chunks after `buffer`; copied together only for a collecting reader.
    var following: [Data] = []
    /// Whether the empty buffer has reserved memory.
    var isReserved = false
    /// Placed here, because next to another `Bool` it needs no additional memory (decision 0053).
    var isStreamed = false
    var end: End?
    /// The waiting reader; only one of the two is set.
    var piece: Suspension<Data?>?
    var whole: Suspension<(Data, Bool)>?
    /// The limit of a collecting reader.
    var limit = 0
    var source: (any Source)?
    var trailers: ReceivedFields?
  }

  /// The action to take after the lock is released.
  fileprivate enum Action {
    case piece(Suspension<Data?>, Result<Data?, any Error>)
    case whole(Suspension<(Data, Bool)>, Result<(Data, Bool), any Error>)

    func run() {
      switch self {
      case .piece(let continuation, let result): continuation.resume(with: result)
      case .whole(let continuation, let result): continuation.resume(with: result)
      }
    }
  }

  /// The minimum size of a chunk that is kept separate.
  fileprivate static let largePiece = 32 << 10

  /// The maximum size of a body that is expected as one chunk, without a reservation.
  fileprivate static let smallBody = 16 << 10

  /// The announced number of bytes; 0 if none was announced.
  package let expected: Int
  private let state: Locked<State>

  /// Creates a stream.
  ///
  /// - Parameters:
  ///   - expected: The announced number of bytes; 0 for none.
  ///   - reserved: The number of bytes to reserve before there is a reader, because the body will be collected.
  ///   - source: The source of the bytes.
  package init(expecting expected: Int = 0, reserving reserved: Int = 0, from source: any Source) {
    self.expected = expected
    var initial = State(source: source)
    initial.reserve(reserved)
    state = Locked(initial)
  }

  /// The trailer fields, once the body was read to its end.
  ///
  /// Set them before the end.
  package var trailers: ReceivedFields? {
    get {
      state.withLock { state in
        guard case .finished? = state.end, state.count == 0 else { return nil }
        return state.trailers
      }
    }
    set { state.withLock { $0.trailers = newValue } }
  }

  /// Whether the body is read chunk by chunk.
  package var isStreamed: Bool { state.withLock { $0.isStreamed } }

  /// The number of unread bytes, as in ``append(_:)``; 0 after an end.
  package var unreadCount: Int { state.withLock { $0.isCollecting || $0.isEnded ? 0 : $0.count } }

  /// Whether a reader collects the whole body.
  package var isCollecting: Bool { state.withLock { $0.isCollecting } }

  /// Adds bytes; returns the number of unread bytes, or `nil` without a reader.
  ///
  /// The number is 0 for a reader that collects the whole body, which has its own limit.
  ///
  /// If `isHeld`, a waiting reader gets the bytes with ``flush()``.
  @discardableResult
  package func append(_ data: Data, isHeld: Bool = false) -> Int? {
    let (action, waiting): (Action?, Int?) = state.withLock {
      guard !$0.isEnded else { return (nil, nil) }
      $0.add(data)
      return (isHeld ? nil : $0.serve(), $0.isCollecting ? 0 : $0.count)
    }
    if let action { finish(action) }
    return waiting
  }

  /// Adds bytes by copying them, as in ``append(_:)``.
  ///
  /// A reader that waits for a chunk gets them with ``flush()``.
  package func append(copying bytes: UnsafeRawBufferPointer) -> Int? {
    let (action, waiting): (Action?, Int?) = state.withLock {
      guard !$0.isEnded else { return (nil, nil) }
      $0.add(copying: bytes)
      guard $0.isCollecting else { return (nil, $0.count) }
      return ($0.serve(), 0)
    }
    if let action { finish(action) }
    return waiting
  }

  /// Gives the buffered bytes to a waiting reader; returns as ``append(_:)`` does.
  package func flush() -> Int? {
    let (action, waiting): (Action?, Int?) = state.withLock {
      guard !$0.isEnded else { return (nil, nil) }
      return ($0.serve(), $0.isCollecting ? 0 : $0.count)
    }
    if let action { finish(action) }
    return waiting
  }

  /// Marks the end; later ends are ignored.
  package func finish(throwing error: (any Error)? = nil) {
    let action: Action? = state.withLock {
      guard !$0.isEnded else { return nil }
      $0.end = error.map { .failed($0) } ?? .finished
      $0.source = nil
      return $0.serve()
    }
    if let action { finish(action) }
  }

  /// Ends the stream at once: drops the buffer and gives `error` to the reader.
  package func abort(_ error: any Error) {
    let action: Action? = state.withLock {
      if case .finished? = $0.end { return nil }
      $0.empty()
      $0.end = .failed(error)
      $0.source = nil
      return $0.serve()
    }
    if let action { finish(action) }
  }

  /// Ends the stream because its reader has left.
  ///
  /// A reader that is still waiting, or that returns, gets an error.
  package func abandon() {
    let (action, source): (Action?, (any Source)?) = state.withLock { state in
      defer { state.source = nil }
      state.abandon()
      return (state.serve(), state.source)
    }
    action?.run()
    source?.readerDidCancel()
  }

  /// The next available bytes, at least one; `nil` at the end.
  package func next() async throws -> Data? {
    let (piece, source): (Data?, (any Source)?) = state.withLock { state in
      guard !state.isAwaited, !state.isEmpty else { return (nil, nil) }
      state.isStreamed = true
      return (state.takePiece(), state.source)
    }
    if let piece {
      source?.readerHasRoom()
      return piece
    }
    return try await suspend { continuation in
      wait(.piece(continuation))
    }
  }

  /// The whole body, or its beginning up to a limit.
  ///
  /// If `isWhole` is false, the rest is abandoned. Suspends its caller at most once.
  package func collect(upTo limit: Int) async throws -> (data: Data, isWhole: Bool) {
    let whole: Data? = state.withLock { state in
      guard !state.isAwaited, case .finished? = state.end, state.count <= limit else { return nil }
      state.join()
      return state.takeBuffer()
    }
    // A small body arrives with its head.
    if let whole { return (whole, true) }
    let result = try await suspend { continuation in
      wait(.whole(limit: limit, continuation))
    }
    return result
  }

  private func wait(_ waiter: Waiter) {
    let (action, source): (Action?, (any Source)?) = state.withLock {
      guard !$0.isAwaited else {
        // Two concurrent readers: the second one gets an error instead of a part of the body.
        switch waiter {
        case .piece(let continuation): return (.piece(continuation, .failure(HasReader())), nil)
        case .whole(_, let continuation): return (.whole(continuation, .failure(HasReader())), nil)
        }
      }
      switch waiter {
      case .piece(let continuation):
        $0.isStreamed = true
        $0.piece = continuation
      case .whole(let limit, let continuation):
        $0.join(reserving: min(limit, expected, BodyMemory.maximumReservation))
        $0.whole = continuation
        $0.limit = limit
      }
      let action = $0.serve()
      return (action, $0.isCollecting ? $0.source : nil)
    }
    if let action { finish(action) }
    source?.readerHasRoom()
  }

  private func finish(_ action: Action) {
    action.run()
    switch action {
    case .whole(_, .success((_, false))): abandon()
    case .piece(_, .success(.some)): state.withLock { $0.source }?.readerHasRoom()
    default: break
    }
  }
}

extension BodyStream.State {
  private var bufferCount: Int { memory.count + buffer.count }

  fileprivate var count: Int { following.isEmpty ? bufferCount : following.reduce(bufferCount) { $0 + $1.count } }

  fileprivate var isEmpty: Bool { bufferCount == 0 }

  fileprivate mutating func empty() {
    buffer = Data()
    memory = BodyMemory()
    following = []
    isReserved = false
  }

  /// Returns the buffer, and leaves nothing.
  fileprivate mutating func takeBuffer() -> Data {
    defer { empty() }
    return memory.exists ? memory.take() : buffer
  }

  fileprivate mutating func add(_ data: Data) {
    if data.isEmpty { return }
    if memory.exists || isCollecting && !buffer.isEmpty && buffer.count + data.count >= BodyMemory.minimumSize {
      data.withUnsafeBytes { append($0) }
    } else if buffer.isEmpty && !isReserved {
      buffer = data
    } else if isCollecting || following.isEmpty && buffer.count < BodyStream.largePiece {
      buffer.append(data)
    } else if let last = following.indices.last, following[last].count < BodyStream.largePiece {
      following[last].append(data)
    } else {
      following.append(data)
    }
  }

  fileprivate mutating func add(copying bytes: UnsafeRawBufferPointer) {
    if isCollecting || isReserved {
      append(bytes)
    } else {
      add(Data(bytes))
    }
  }

  private mutating func append(_ bytes: UnsafeRawBufferPointer) {
    let count = buffer.count + bytes.count
    if !memory.exists, count >= BodyMemory.minimumSize { moveToMemory(2 * count) }
    if memory.exists {
      if memory.append(bytes) { return }
      // The heap is the last resort. A copy, because the heap cannot enlarge pages.
      let received = memory.take()
      buffer = Data(capacity: received.count + bytes.count)
      buffer.append(received)
    }
    buffer.append(contentsOf: bytes.bindMemory(to: UInt8.self))
  }

  private mutating func moveToMemory(_ size: Int) {
    guard memory.reserve(size) else { return }
    _ = buffer.withUnsafeBytes { memory.append($0) }
    buffer = Data()
  }

  fileprivate mutating func takePiece() -> Data {
    guard !following.isEmpty else { return takeBuffer() }
    defer { buffer = following.removeFirst() }
    return memory.exists ? memory.take() : buffer
  }

  /// Joins all chunks into one buffer, with room for more.
  fileprivate mutating func join(reserving room: Int = 0) {
    reserve(max(room, following.isEmpty ? 0 : count))
    for piece in following { piece.withUnsafeBytes { append($0) } }
    following = []
  }

  /// Reserves memory in one step; growing would need old and new memory at the same time.
  ///
  /// An announced length is only a promise, so large memory is reserved without being used.
  fileprivate mutating func reserve(_ count: Int) {
    guard count > BodyStream.smallBody, !isEnded, bufferCount < count else { return }
    if memory.exists {
      _ = memory.reserve(count)
    } else if count >= BodyMemory.minimumSize {
      moveToMemory(count)
    } else {
      buffer.reserveCapacity(count)
    }
    isReserved = true
  }

  fileprivate var isEnded: Bool { if case nil = end { false } else { true } }

  fileprivate var isAwaited: Bool { piece != nil || whole != nil }

  fileprivate var isCollecting: Bool { whole != nil }

  /// Drops unread bytes in a way that never looks like the end of the body.
  fileprivate mutating func abandon() {
    switch end {
    case .failed?: break
    case .finished? where isEmpty: break
    default: end = .failed(CancellationError())
    }
    empty()
  }

  /// Resumes the waiting reader with the available bytes.
  fileprivate mutating func serve() -> BodyStream.Action? {
    if let piece { return servePiece(piece) }
    if let whole { return serveWhole(limit, whole) }
    return nil
  }

  private mutating func servePiece(_ continuation: Suspension<Data?>) -> BodyStream.Action? {
    if !isEmpty {
      piece = nil
      return .piece(continuation, .success(takePiece()))
    }
    guard let end else { return nil }
    piece = nil
    switch end {
    case .finished: return .piece(continuation, .success(nil))
    case .failed(let error): return .piece(continuation, .failure(error))
    }
  }

  private mutating func serveWhole(
    _ limit: Int, _ continuation: Suspension<(Data, Bool)>
  ) -> BodyStream.Action? {
    if bufferCount > limit {
      whole = nil
      let beginning = takeBuffer().prefix(limit)
      // The rest is dropped, which must not look like the end of the body.
      if case .failed? = end {} else { end = .failed(CancellationError()) }
      return .whole(continuation, .success((beginning, false)))
    }
    guard let end else { return nil }
    whole = nil
    defer { empty() }
    switch end {
    case .finished: return .whole(continuation, .success((takeBuffer(), true)))
    case .failed(let error): return .whole(continuation, .failure(error))
    }
  }
}
