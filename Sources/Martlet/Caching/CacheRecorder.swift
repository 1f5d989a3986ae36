import MartletBase

/// Records a body while it is read, and stores the complete response.
///
/// A body that is not read to its end is discarded.
final class CacheRecorder: Sendable {
  private struct State {
    /// The chunks that are in memory: all of them, or none.
    var pieces: [Data] = []
    var count: Int64 = 0
    var sink: DiskSink?
  }

  private let shelf: any CacheStorage
  private let commit: @Sendable (CachedBody) async throws -> Bool
  private let report: @Sendable (String) -> Void
  private let lease: RequestCoalescer.Lease?
  /// `nil` while a chunk is written, which happens outside the lock, and after the end.
  private let state = Locked<State?>(State())

  /// The maximum size of a body that stays in memory until it is stored.
  private static let memoryBytes: Int64 = 1 << 20

  /// The end of the recording ends `lease`.
  ///
  /// `commit` stores a complete body, or returns `false` for one that may be truncated. `report` receives the error
  /// that prevents the storing.
  init(
    _ shelf: any CacheStorage, _ lease: RequestCoalescer.Lease?,
    commit: @escaping @Sendable (CachedBody) async throws -> Bool, report: @escaping @Sendable (String) -> Void
  ) {
    self.shelf = shelf
    self.lease = lease
    self.commit = commit
    self.report = report
  }

  deinit { abandon() }

  /// Takes the next chunk; called by one reader, sequentially.
  func take(_ piece: Data) {
    guard var now = state.withLock({ $0.take() }) else { return }
    do {
      try add(piece, to: &now)
      state.withLock { [now] in $0 = now }
    } catch {
      fail(error)
    }
  }

  private func add(_ piece: Data, to now: inout State) throws {
    now.count += Int64(piece.count)
    guard now.count <= shelf.maximumBodyBytes else {
      throw HTTPError(.fileFailed, "the body exceeds the cache's limit of \(shelf.maximumBodyBytes) bytes")
    }
    if try now.sink?.write(piece) != nil { return }
    now.pieces.append(piece)
    guard now.count > Self.memoryBytes, var sink = try shelf.makeSink() else { return }
    for piece in now.pieces { try sink.write(piece) }
    (now.pieces, now.sink) = ([], sink)
  }

  /// Stores the response at the end of its body.
  func finish() async {
    guard let state = state.withLock({ $0.take() }) else { return }
    do {
      let isStored = try await commit(state.sink?.finish() ?? .data(Self.joined(state.pieces)))
      lease?.end(isStored ? .stored : .notStored)
    } catch {
      fail(error)
    }
  }

  /// Discards the body, because it is not read to its end.
  func abandon() {
    guard state.withLock({ $0.take() }) != nil else { return }
    lease?.end(.left)
  }

  private func fail(_ error: any Error) {
    report((error as? HTTPError)?.message ?? InvalidInput.printable("\(type(of: error))"))
    lease?.end(.notStored)
  }

  private static func joined(_ pieces: [Data]) -> Data {
    guard pieces.count != 1 else { return pieces[0] }
    // Joining the sequence would copy it byte by byte.
    var data = Data(capacity: pieces.reduce(0) { $0 + $1.count })
    for piece in pieces { data.append(piece) }
    return data
  }
}

extension ResponseBody {
  /// The same body, recorded while it is read.
  func recorded(by recorder: CacheRecorder) async -> ResponseBody {
    if let data = immediate {
      recorder.take(data)
      await recorder.finish()
      return self
    }
    return mapped { pull in
      {
        do {
          if let piece = try await pull() {
            recorder.take(piece)
            return piece
          }
        } catch {
          recorder.abandon()
          throw error
        }
        await recorder.finish()
        return nil
      }
    }
  }
}
