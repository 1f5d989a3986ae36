import MartletBase
import Foundation

/// Records a body while it is read, and stores the complete response.
///
/// A body that is not read to its end is discarded.
final class CacheRecorder: Sendable {
  private struct State {
    var pieces: [Data] = []
    var count: Int64 = 0
    var sink: DiskSink?
    /// Whether the shelf has no sinks.
    var isInMemory = false
    var isOver = false
  }

  private let shelf: any CacheShelf
  private let expected: Int64?
  private let commit: @Sendable (CachedBody) async throws -> Void
  private let report: @Sendable (String) -> Void
  private let lease: CacheFlights.Lease?
  private let state = Locked(State())

  /// The maximum size of a body that stays in memory until it is stored.
  private static let memoryBytes: Int64 = 1 << 20

  /// The end of the recording ends `lease`; `report` receives the reason if the response is not stored.
  init(
    _ shelf: any CacheShelf, expected: Int64?, _ lease: CacheFlights.Lease?,
    commit: @escaping @Sendable (CachedBody) async throws -> Void, report: @escaping @Sendable (String) -> Void
  ) {
    self.shelf = shelf
    self.expected = expected
    self.lease = lease
    self.commit = commit
    self.report = report
  }

  deinit { giveUp(nil) }

  /// Takes the next chunk; called by one reader, sequentially.
  func take(_ piece: Data) {
    // Files are written outside the lock.
    let step: (pieces: [Data], sink: DiskSink?)? = state.withLock { state in
      guard !state.isOver else { return nil }
      state.count += Int64(piece.count)
      guard state.count <= shelf.maximumBodyBytes else { return ([], nil) }
      if let sink = state.sink { return ([piece], sink) }
      state.pieces.append(piece)
      guard state.count > Self.memoryBytes, !state.isInMemory else { return nil }
      return (state.pieces, nil)
    }
    guard let step else { return }
    guard !step.pieces.isEmpty else {
      return giveUp("the body is larger than the cache takes (\(shelf.maximumBodyBytes) bytes)")
    }
    do {
      if let sink = step.sink { return try sink.write(piece) }
      let sink = try shelf.makeSink()
      for piece in step.pieces { try sink?.write(piece) }
      state.withLock { state in
        if sink == nil { state.isInMemory = true } else { state.pieces = [] }
        state.sink = sink
      }
    } catch {
      giveUp(Self.text(error))
    }
  }

  /// Stores the response at the end of its body.
  func finish() async {
    guard let state = end() else { return }
    do {
      guard expected == nil || expected == state.count else { return lease?.end(.notStored) ?? () }
      let body: CachedBody
      if let sink = state.sink {
        body = try sink.finish()
      } else if state.pieces.count == 1 {
        body = .data(state.pieces[0])
      } else {
        // Joining the sequence would copy it byte by byte.
        var data = Data(capacity: Int(clamping: state.count))
        for piece in state.pieces { data.append(piece) }
        body = .data(data)
      }
      try await commit(body)
      lease?.end(.stored)
    } catch {
      report(Self.text(error))
      lease?.end(.notStored)
    }
  }

  func giveUp(_ problem: String?) {
    guard let state = end() else { return }
    state.sink?.discard()
    if let problem { report(problem) }
    lease?.end(problem == nil ? .left : .notStored)
  }

  /// Ends the recording; returns what it had, or `nil` if it was over.
  private func end() -> State? {
    state.withLock { state in
      guard !state.isOver else { return nil }
      defer { state = State(isOver: true) }
      return state
    }
  }

  private static func text(_ error: any Error) -> String {
    (error as? HTTPError)?.message ?? InvalidInput.printable("\(type(of: error))")
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
          recorder.giveUp(nil)
          throw error
        }
        await recorder.finish()
        return nil
      }
    }
  }
}
