package import Foundation

/// The bytes of one response on their way from a transport's thread to one reader.
///
/// ```
///   append ─▶ buffer ─▶ next / collect        one reader, one waiting continuation at most
///   finish ─▶ end, seen after the buffer is empty
///   abort  ─▶ end at once, the buffer is dropped
///   abandon ◀─ the reader went away: its source ends the exchange
/// ```
package final class BodyStream: Sendable {
  /// Where the bytes come from; held until the end.
  package protocol Source: AnyObject, Sendable {
    /// The buffer was emptied, or somebody begins to collect and so has room for all.
    func readerHasRoom()
    /// The reader has gone away, or has enough, before the end; called once.
    func readerHasLeft()
  }

  fileprivate enum Waiter {
    case piece(Suspension<Data?>)
    case whole(limit: Int, Suspension<(Data, Bool)>)
  }

  fileprivate enum End {
    case finished
    case failed(any Error)
  }

  fileprivate struct State {
    var buffer = Data()
    /// Large pieces that came after it and are not copied together, unless somebody wants the whole.
    var following: [Data] = []
    /// Whether the empty buffer has memory for what is to come.
    var isReserved = false
    var end: End?
    /// Who waits; one at most.
    var piece: Suspension<Data?>?
    var whole: Suspension<(Data, Bool)>?
    /// The limit of who wants the whole.
    var limit = 0
    var isStreamed = false
    var source: (any Source)?
    var trailers: ReceivedFields?
  }

  /// What to do once the lock is released.
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

  /// From here on a piece is kept for itself.
  fileprivate static let largePiece = 32 << 10

  /// Up to here a body is expected to come in one piece, and nothing is reserved for it.
  fileprivate static let smallBody = 16 << 10

  /// How much memory is reserved ahead of what has come: a length is a promise, and anybody can make one.
  fileprivate static let room = 1 << 20

  /// The number of bytes that were announced; 0 if none were.
  package let expected: Int
  private let state: Locked<State>

  package init(expecting expected: Int = 0, from source: any Source) {
    self.expected = expected
    state = Locked(State(source: source))
  }

  /// The fields after the body, as soon as that was read to its end; to be set before it.
  package var trailers: ReceivedFields? {
    get {
      state.withLock { state in
        guard case .finished? = state.end, state.count == 0 else { return nil }
        return state.trailers
      }
    }
    set { state.withLock { $0.trailers = newValue } }
  }

  /// Whether it is read piece by piece.
  package var isStreamed: Bool { state.withLock { $0.isStreamed } }

  /// The number of bytes that wait for the reader, as ``append(_:)`` returns it, and 0 after an end.
  package var unreadCount: Int { state.withLock { $0.isCollecting || $0.isEnded ? 0 : $0.count } }

  /// Whether somebody waits for the whole.
  package var isCollecting: Bool { state.withLock { $0.isCollecting } }

  /// Adds bytes; returns how many wait for the reader, or `nil` if nobody will read them.
  ///
  /// That is 0 for a reader that wants them all, which has a limit of its own.
  @discardableResult
  package func append(_ data: Data) -> Int? {
    let (action, waiting): (Action?, Int?) = state.withLock {
      guard !$0.isEnded else { return (nil, nil) }
      $0.add(data)
      return ($0.serve(), $0.isCollecting ? 0 : $0.count)
    }
    if let action { finish(action) }
    return waiting
  }

  /// Adds bytes that are somebody else's, as ``append(_:)``; a reader that waits for a piece gets them with
  /// ``flush()``.
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

  /// Gives what there is to a reader that waits; returns as ``append(_:)``.
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

  /// Ends it at once: what is buffered is dropped, and the reader gets `error`.
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

  /// The reader has gone away; one that comes back, or still waits, gets an error.
  package func abandon() {
    let (action, source): (Action?, (any Source)?) = state.withLock { state in
      defer { state.source = nil }
      state.giveUp()
      return (state.serve(), state.source)
    }
    action?.run()
    source?.readerHasLeft()
  }

  /// The next bytes that are there, at least one, or `nil` at the end.
  package func next() async throws -> Data? {
    let (piece, source): (Data?, (any Source)?) = state.withLock { state in
      guard !state.isAwaited, !state.buffer.isEmpty else { return (nil, nil) }
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

  /// All bytes, and whether they are all: if not, the rest was abandoned; wakes its caller once.
  package func collect(upTo limit: Int) async throws -> (data: Data, isWhole: Bool) {
    let whole: Data? = state.withLock { state in
      guard !state.isAwaited, case .finished? = state.end, state.count <= limit else { return nil }
      state.join()
      defer { state.empty() }
      return state.buffer
    }
    // A small body is there with its head.
    if let whole { return (whole, true) }
    let result = try await suspend { continuation in
      wait(.whole(limit: limit, continuation))
    }
    return result
  }

  private func wait(_ waiter: Waiter) {
    let (action, source): (Action?, (any Source)?) = state.withLock {
      guard !$0.isAwaited else {
        // Two readers at once: the second one gets an error rather than a part.
        switch waiter {
        case .piece(let continuation): return (.piece(continuation, .failure(CancellationError())), nil)
        case .whole(_, let continuation): return (.whole(continuation, .failure(CancellationError())), nil)
        }
      }
      switch waiter {
      case .piece(let continuation):
        $0.isStreamed = true
        $0.piece = continuation
      case .whole(let limit, let continuation):
        $0.join(reserving: min(limit, expected, $0.count + Self.room))
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
  fileprivate var count: Int { following.isEmpty ? buffer.count : following.reduce(buffer.count) { $0 + $1.count } }

  fileprivate mutating func empty() {
    buffer = Data()
    following = []
    isReserved = false
  }

  fileprivate mutating func add(_ data: Data) {
    if data.isEmpty { return }
    if buffer.isEmpty && !isReserved {
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
      buffer.append(contentsOf: bytes.bindMemory(to: UInt8.self))
    } else {
      add(Data(bytes))
    }
  }

  fileprivate mutating func takePiece() -> Data {
    guard !following.isEmpty else {
      defer { empty() }
      return buffer
    }
    defer { buffer = following.removeFirst() }
    return buffer
  }

  /// Makes one buffer of all that has come, with room for what is to come.
  fileprivate mutating func join(reserving room: Int = 0) {
    reserve(max(room, following.isEmpty ? 0 : count))
    for piece in following { buffer.append(piece) }
    following = []
  }

  /// Makes room in one step: growing would need the old and the new memory at the same time.
  fileprivate mutating func reserve(_ count: Int) {
    guard count > BodyStream.smallBody, !isEnded, buffer.count < count else { return }
    buffer.reserveCapacity(count)
    isReserved = true
  }

  fileprivate var isEnded: Bool { if case nil = end { false } else { true } }

  fileprivate var isAwaited: Bool { piece != nil || whole != nil }

  fileprivate var isCollecting: Bool { whole != nil }

  /// Drops what nobody will read, so that what is lost never looks like an end.
  fileprivate mutating func giveUp() {
    switch end {
    case .failed?: break
    case .finished? where buffer.isEmpty: break
    default: end = .failed(CancellationError())
    }
    empty()
  }

  /// Gives the waiting reader what is there.
  fileprivate mutating func serve() -> BodyStream.Action? {
    if let piece { return servePiece(piece) }
    if let whole { return serveWhole(limit, whole) }
    return nil
  }

  private mutating func servePiece(_ continuation: Suspension<Data?>) -> BodyStream.Action? {
    if !buffer.isEmpty {
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
    if buffer.count > limit {
      whole = nil
      defer { giveUp() }
      return .whole(continuation, .success((buffer.prefix(limit), false)))
    }
    guard let end else { return nil }
    whole = nil
    defer { empty() }
    switch end {
    case .finished: return .whole(continuation, .success((buffer, true)))
    case .failed(let error): return .whole(continuation, .failure(error))
    }
  }
}
