public import MartletBase
import Synchronization

/// The body of a response: a sequence of chunks, readable once.
///
/// The first loop, iterator or function that reads the body is its only reader. Every other one throws an
/// ``HTTPError`` of kind ``HTTPError/Kind/unsupported``, even if it reads a copy or reads at the same time. A body that
/// is complete in memory, such as that of `init(_:)`, can be read any number of times.
///
/// Releasing a body before its end closes its connection. Cancelling a task that reads it has the same effect.
public struct ResponseBody: AsyncSequence, Sendable {
  public typealias Element = Data
  public typealias Failure = any Error

  fileprivate enum Storage: Sendable {
    case data(Data)
    case stream(BodyStream, BodyReader)
    case pull(@Sendable () async throws -> Data?, BodyReader)
  }

  private var storage: Storage
  /// The announced number of bytes, or 0.
  private var announced = 0
  /// Retained as long as the body may be read.
  private var lifetime: (any BodyLifetime)?

  /// Creates a body from data.
  ///
  /// - Parameter data: The bytes; none by default.
  public init(_ data: Data = Data()) { storage = .data(data) }

  /// Creates a body from a closure that returns the next chunk.
  ///
  /// - Parameter next: Returns the next chunk, or `nil` at the end. It is never called before the previous call has
  ///   returned.
  public init(next: @escaping @Sendable () async throws -> Data?) { storage = .pull(next, BodyReader()) }

  package init(_ stream: BodyStream) {
    storage = .stream(stream, BodyReader(stream))
    announced = stream.expected
  }

  /// Iterates over chunks.
  public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
    fileprivate var storage: Storage?
    fileprivate var lifetime: (any BodyLifetime)?
    /// Whether this is the only reader of the body.
    private var isReader = false

    fileprivate init(storage: Storage, lifetime: (any BodyLifetime)?) {
      (self.storage, self.lifetime) = (storage, lifetime)
    }

    /// The next chunk, never empty, or `nil` at the end and after an error.
    ///
    /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/unsupported`` if the body has another reader, or its closure
    ///   has returned; any error from reading the body.
    public mutating func next() async throws -> Data? {
      // The error or the cancellation of a second reader does not end the exchange, which belongs to the first one.
      var reading: BodyReader?
      switch storage {
      case .stream(_, let reader)?, .pull(_, let reader)?:
        try isReader ? reader.check() : reader.claim()
        isReader = true
        try reader.begin()
        reading = reader
      case .data?, nil: break
      }
      defer { reading?.end() }
      do {
        guard let lifetime else { return try await piece() }
        return try await withTaskCancellationHandler {
          try await piece()
        } onCancel: {
          lifetime.cancel()
        }
      } catch {
        end(error)
        throw error
      }
    }

    private mutating func piece() async throws -> Data? {
      switch storage {
      case nil: return nil
      case .data(let data):
        storage = nil
        return data.isEmpty ? nil : data
      case .stream(let stream, _):
        if let piece = try await stream.next() { return piece }
        end()
        return nil
      case .pull(let pull, _):
        while let piece = try await pull() {
          if !piece.isEmpty { return piece }
        }
        end()
        return nil
      }
    }

    private mutating func end(_ error: (any Error)? = nil) {
      storage = nil
      lifetime?.end(error)
      lifetime = nil
    }
  }

  /// Starts reading.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(storage: storage, lifetime: lifetime) }

  /// Reads the body to its end.
  ///
  /// - Parameter limit: The maximum number of bytes, after decompression.
  /// - Returns: The whole body.
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/bodyTooLarge`` as soon as `limit` is exceeded; at once if the
  ///   announced length exceeds it; of kind ``HTTPError/Kind/unsupported`` if the body has another reader.
  public func collect(upTo limit: Int) async throws -> Data {
    try await whole(upTo: limit, endsWithTask: true)
  }

  /// Reads the body to its end; the cancellation of the task ends its exchange only if the caller requests that.
  @inline(__always)
  func whole(upTo limit: Int, endsWithTask: Bool = false) async throws -> Data {
    guard announced <= limit, case (let data, true) = try await read(upTo: limit, endsWithTask: endsWithTask) else {
      throw HTTPError(.bodyTooLarge, "the body is larger than \(limit) bytes", phase: .receiving)
    }
    return data
  }

  /// Whether the body is known to be empty.
  var isEmpty: Bool { if case .data(let data) = storage { data.isEmpty } else { false } }

  /// Reads at most `limit` bytes, and does not wait for the rest.
  @inline(__always)
  package func read(upTo limit: Int, endsWithTask: Bool = false) async throws -> (data: Data, isWhole: Bool) {
    switch storage {
    case .data(let data): return data.count <= limit ? (data, true) : (data.prefix(limit), false)
    case .stream(let stream, let reader):
      try reader.claim()
      do {
        guard endsWithTask, let lifetime else { return try await stream.collect(upTo: limit) }
        return try await withTaskCancellationHandler {
          try await stream.collect(upTo: limit)
        } onCancel: {
          lifetime.cancel()
        }
      } catch {
        lifetime?.end(error)
        throw error
      }
    case .pull:
      var whole = Data()
      for try await piece in self {
        guard whole.count + piece.count <= limit else {
          whole.append(piece.prefix(limit - whole.count))
          return (whole, false)
        }
        whole.append(piece)
      }
      return (whole, true)
    }
  }

  /// A copy that ends `lifetime` at the end of the body or when it is released.
  func keeping(_ lifetime: any BodyLifetime) -> ResponseBody {
    if case .data = storage {
      lifetime.end(nil)
      return self
    }
    var copy = self
    copy.lifetime = lifetime
    return copy
  }

  /// The complete body, if it is in memory.
  var immediate: Data? { if case .data(let data) = storage { data } else { nil } }

  /// Ends the body for all readers.
  func close() {
    switch storage {
    case .stream(_, let reader), .pull(_, let reader): reader.close()
    case .data: break
    }
  }

  /// Returns a closure that reads the chunks in order, without claiming the body.
  ///
  /// No other code may then read the body.
  func makePull() -> @Sendable () async throws -> Data? {
    switch storage {
    case .data(let data):
      let rest = Locked<Data?>(data)
      return { rest.withLock { $0.take() } }
    // The closure retains the reader, so releasing the body still ends the exchange.
    case .stream(let stream, let reader):
      return {
        defer { withExtendedLifetime(reader) {} }
        return try await stream.next()
      }
    case .pull(let own, _): return own
    }
  }

  /// A copy whose chunks are read through another closure.
  ///
  /// A body in memory is returned unchanged. The body and the copy have one reader together.
  func mapped(
    _ change: (@escaping @Sendable () async throws -> Data?) -> @Sendable () async throws -> Data?
  ) -> ResponseBody {
    var copy = self
    switch storage {
    case .data: return self
    case .stream(_, let reader), .pull(_, let reader): copy.storage = .pull(change(makePull()), reader)
    }
    return copy
  }

  /// A body with the same announced length whose chunks come from a closure.
  ///
  /// The closure is then responsible for ending the exchange.
  func replaced(by next: @escaping @Sendable () async throws -> Data?) -> ResponseBody {
    var copy = ResponseBody(next: next)
    copy.announced = announced
    return copy
  }

  /// A copy that reports each chunk to a watcher when it is read.
  func watched(by watch: some BodyObserver) -> ResponseBody {
    if let data = immediate {
      watch.took(data)
      watch.ended(nil)
      return self
    }
    return mapped { pull in
      {
        do {
          let piece = try await pull()
          if let piece { watch.took(piece) } else { watch.ended(nil) }
          return piece
        } catch {
          watch.ended(error)
          throw error
        }
      }
    }
  }

  /// A copy whose chunks, if a closure returns them, are awaited only until an abort.
  func abortable(
    _ source: AbortSource, _ setPaused: @escaping @Sendable (Bool) -> Void = { _ in }
  ) -> ResponseBody {
    guard case .pull(let pull, let reader) = storage else { return self }
    var copy = self
    copy.storage = .pull(
      {
        setPaused(false)
        defer { setPaused(true) }
        return try await withAbort(source, endsWithTask: true, pull)
      }, reader)
    return copy
  }
}

/// An object that ends with a body, such as its exchange.
protocol BodyLifetime: AnyObject, Sendable {
  func end(_ error: (any Error)?)
  /// Ends the wait for bytes when the reader's task is cancelled.
  func cancel()
}

/// Observes a body's chunks as they are read, and the body's end.
protocol BodyObserver: Sendable {
  func took(_ piece: Data)
  func ended(_ error: (any Error)?)
}

/// The only reader of a body, shared by all its copies; ends the exchange of a body that is no longer read.
///
/// ```
///   unread ─claim─▶ claimed ─close─▶ closed
///      └───────────close───────────────▲
/// ```
final class BodyReader: Sendable {
  private enum State {
    static let unread = 0
    static let claimed = 1
    static let closed = 2
  }

  private let stream: BodyStream?
  private let state = Atomic(State.unread)
  /// Whether an iterator waits for the next chunk.
  private let isReading = Atomic(false)

  init(_ stream: BodyStream? = nil) { self.stream = stream }

  deinit { stream?.abandon() }

  /// Makes the caller the reader; throws if there is one already.
  @inline(never) func claim() throws {
    let (isFirst, old) = state.compareExchange(
      expected: State.unread, desired: State.claimed, ordering: .relaxed)
    if !isFirst { throw old == State.closed ? Self.closed : Self.second }
  }

  /// Throws if the body was closed.
  func check() throws {
    if state.load(ordering: .relaxed) == State.closed { throw Self.closed }
  }

  func close() { state.store(State.closed, ordering: .relaxed) }

  /// Begins a wait for a chunk; throws if a copy of the iterator is waiting.
  func begin() throws {
    if isReading.exchange(true, ordering: .acquiring) { throw Self.second }
  }

  func end() { isReading.store(false, ordering: .releasing) }

  static let second = HTTPError(
    .unsupported, "the body has another reader; a body is read once: keep the first reader's result", phase: .receiving)
  static let closed = HTTPError(
    .unsupported, "the body was read after the closure of stream() had returned; read it inside the closure",
    phase: .receiving)
}
