package import MartletBase
public import Foundation

/// The body of a response: a sequence of chunks, readable once.
///
/// A body that is dropped before its end closes its connection.
public struct ResponseBody: AsyncSequence, Sendable {
  public typealias Element = Data
  public typealias Failure = any Error

  fileprivate enum Storage: Sendable {
    case data(Data)
    case stream(BodyReader)
    case pull(@Sendable () async throws -> Data?)
  }

  private var storage: Storage
  /// The announced number of bytes, or 0.
  private var announced = 0
  /// Retained as long as the body may be read.
  private var lifetime: ExchangeLifetime?

  /// Creates a body from data.
  ///
  /// - Parameter data: The bytes; none by default.
  public init(_ data: Data = Data()) { storage = .data(data) }

  /// Creates a body from a closure that returns the next chunk.
  ///
  /// - Parameter next: Returns the next chunk, or `nil` at the end. It is never called before the previous call has
  ///   returned.
  public init(next: @escaping @Sendable () async throws -> Data?) { storage = .pull(next) }

  package init(_ stream: BodyStream) {
    storage = .stream(BodyReader(stream))
    announced = stream.expected
  }

  /// Iterates over chunks.
  public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
    fileprivate var storage: Storage?
    fileprivate var lifetime: ExchangeLifetime?

    /// The next chunk, never empty, or `nil` at the end and after an error.
    public mutating func next() async throws -> Data? {
      do {
        return try await piece()
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
      case .stream(let reader):
        if let piece = try await reader.stream.next() { return piece }
        end()
        return nil
      case .pull(let pull):
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
  ///   announced length exceeds it.
  public func collect(upTo limit: Int) async throws -> Data {
    guard announced <= limit, case (let data, true) = try await read(upTo: limit) else {
      throw HTTPError(.bodyTooLarge, "the body is larger than \(limit) bytes", phase: .receiving)
    }
    return data
  }

  /// Whether the body is known to be empty.
  var isEmpty: Bool { if case .data(let data) = storage { data.isEmpty } else { false } }

  /// Reads at most `limit` bytes, and does not wait for the rest.
  @inline(__always)
  package func read(upTo limit: Int) async throws -> (data: Data, isWhole: Bool) {
    switch storage {
    case .data(let data): return data.count <= limit ? (data, true) : (data.prefix(limit), false)
    case .stream(let reader):
      do {
        return try await reader.stream.collect(upTo: limit)
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
  func keeping(_ lifetime: ExchangeLifetime) -> ResponseBody {
    if case .data = storage {
      lifetime.end()
      return self
    }
    var copy = self
    copy.lifetime = lifetime
    return copy
  }

  /// The complete body, if it is in memory.
  var immediate: Data? { if case .data(let data) = storage { data } else { nil } }

  /// Returns a closure that reads the chunks in order.
  ///
  /// No other code may then read the body.
  func makePull() -> @Sendable () async throws -> Data? {
    switch storage {
    case .data(let data):
      let rest = Locked<Data?>(data)
      return {
        rest.withLock { rest in
          defer { rest = nil }
          return rest
        }
      }
    // The closure retains the reader, so that releasing the body still ends the exchange.
    case .stream(let reader): return { try await reader.stream.next() }
    case .pull(let own): return own
    }
  }

  /// A copy whose chunks are read through another closure.
  ///
  /// A body in memory is returned unchanged.
  func mapped(
    _ change: (@escaping @Sendable () async throws -> Data?) -> @Sendable () async throws -> Data?
  ) -> ResponseBody {
    if case .data = storage { return self }
    var copy = self
    copy.storage = .pull(change(makePull()))
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

  /// A copy for a transport that does not observe `exchange`: an abort ends each wait.
  ///
  /// Only these waits count as silence. Each chunk restarts the idle limit, and the time that the reader takes does not
  /// count.
  func abortable(_ exchange: ExchangeControl) -> ResponseBody {
    guard case .pull(let pull) = storage else { return self }
    return ResponseBody {
      exchange.setPaused(false)
      defer { exchange.setPaused(true) }
      return try await withAbort(exchange.abortSource, pull)
    }
  }
}

/// Sees the chunks of a body as they are read, and its end.
protocol BodyObserver: Sendable {
  func took(_ piece: Data)
  func ended(_ error: (any Error)?)
}

/// Ends the exchange of a body that is no longer read.
final class BodyReader: Sendable {
  let stream: BodyStream

  init(_ stream: BodyStream) { self.stream = stream }

  deinit { stream.abandon() }
}
