import MartletBase

/// A body that is read into a file before it is sent.
///
/// ```
///   empty ──fill──▶ filling ──▶ full
///     ▲                │
///     └─────failed─────┘     the first waiter throws; the others try again
/// ```
///
/// All waiters share one read, which is cancelled when the last waiter leaves.
package final class BodySpool: ComparedByIdentity {
  private struct Filling {
    /// The waiters; `true` if the file is full, and `false` to try again.
    var waiting: [Promise<Bool>]
    let task: Task<Void, Never>
    var isGivenUp = false
  }

  private enum State {
    case empty
    case filling(Filling)
    case full(BodyFile, size: Int64)
  }

  private let content: HTTPBody.Content
  private let limit: Int64
  private let folder: URL
  private let state = Locked(State.empty)

  init(_ content: HTTPBody.Content, limit: Int64, folder: URL?) {
    self.content = content
    self.limit = limit
    self.folder = folder ?? FileManager.default.temporaryDirectory
  }

  private var file: (BodyFile, size: Int64)? {
    state.withLock { if case .full(let file, let size) = $0 { (file, size) } else { nil } }
  }

  /// The number of bytes, or `nil` before the file is complete.
  var length: Int64? { file?.size }

  /// The number of waiters, for tests.
  var waitingCount: Int { state.withLock { if case .filling(let filling) = $0 { filling.waiting.count } else { 0 } } }

  private var isBegun: Bool { state.withLock { if case .empty = $0 { false } else { true } } }

  // In this order: the second test finds a reading that has started in the meantime.
  var isUsable: Bool { content.isUsable || isBegun }

  func check() throws(HTTPError) -> Int64? {
    if let length { return length }
    // During and after the reading, the original content may be unusable.
    do { _ = try content.check() } catch { guard isBegun else { throw error } }
    return nil
  }

  /// Reads the body into a file, unless that is done; `encoder` encodes its JSON values.
  func fill(_ encoder: JSONEncoder = .standard) async throws {
    while true {
      let turn = Promise<Bool>()
      let isFull: Bool = state.withLock { state in
        switch state {
        case .full: return true
        case .filling(var filling):
          filling.waiting.append(turn)
          state = .filling(filling)
        case .empty: state = .filling(Filling(waiting: [turn], task: Task { await run(encoder) }))
        }
        return false
      }
      if isFull { return }
      let isDone = try await withTaskCancellationHandler {
        try await turn.take()
      } onCancel: {
        leave(turn)
      }
      if isDone { return }
    }
  }

  private func run(_ encoder: JSONEncoder) async {
    do {
      let (file, size) = try await read(encoder)
      settle(.full(file, size: size), .success(true))
    } catch {
      settle(.empty, .failure(error))
    }
  }

  private func leave(_ turn: Promise<Bool>) {
    let task: Task<Void, Never>? = state.withLock { state in
      guard case .filling(var filling) = state, let index = filling.waiting.firstIndex(where: { $0 === turn }) else {
        return nil
      }
      filling.waiting.remove(at: index)
      if filling.waiting.isEmpty { filling.isGivenUp = true }
      state = .filling(filling)
      return filling.isGivenUp ? filling.task : nil
    }
    task?.cancel()
    turn.resolve(.failure(CancellationError()))
  }

  private func settle(_ new: State, _ result: Result<Bool, any Error>) {
    let filling: Filling? = state.withLock { state in
      defer { state = new }
      if case .filling(let filling) = state { return filling }
      return nil
    }
    guard let filling else { return }
    for (number, turn) in filling.waiting.enumerated() {
      if case .failure = result, number > 0 || filling.isGivenUp {
        turn.resolve(.success(false))
      } else {
        turn.resolve(result)
      }
    }
  }

  private func read(_ encoder: JSONEncoder) async throws -> (BodyFile, Int64) {
    let plan = try BodyPlan(content.encoded(encoder))
    if let length = plan.length, length > limit { throw tooLarge }
    let folder = folder
    let file = try await onFileQueue { () throws(HTTPError) in try Self.makeFile(in: folder) }
    do {
      let (rest, size) = try await plan.store(upTo: limit, orThrow: tooLarge, holding: 64 << 10) { block in
        try await Self.write(block, to: file)
      }
      try await Self.write(rest, to: file)
      return (file, size)
    } catch var error as HTTPError {
      // Problems of a source are normally found while it is sent, but nothing was sent yet.
      (error.phase, error.mayHaveReachedServer) = (.queued, false)
      throw error
    }
  }

  private static func write(_ data: Data, to file: BodyFile) async throws {
    try await onFileQueue { () throws(HTTPError) in
      let code = data.withUnsafeBytes { DiskCalls.append($0, to: file.descriptor.number) }
      if code != 0 { throw Self.problem("cannot be written", code) }
    }
  }

  /// Reads the stored body; fills the spool first if necessary.
  func send(to take: (Data) async throws -> Void) async throws {
    try await fill()
    guard let (file, size) = file else { return }
    try await file.send(size, to: take)
  }

  /// Creates a file for this process only, unlinked before anything is written to it.
  private static func makeFile(in folder: URL) throws(HTTPError) -> BodyFile {
    let number = UInt64.random(in: .min ... .max)
    let name = folder.appending(path: ".martlet-\(String(number, radix: 36))").path(percentEncoded: false)
    guard let descriptor = DiskDescriptor.at(name, O_RDWR | O_CREAT | O_EXCL) else {
      let code = errno
      throw problem("cannot be created in \(DiskCalls.shown(folder.path(percentEncoded: false)))", code)
    }
    unlink(name)
    return BodyFile(descriptor, name: "of a spooled body")
  }

  private static func problem(_ what: String, _ code: Int32) -> HTTPError {
    .file("the temporary file of a body \(what)", code: code)
  }

  private var tooLarge: HTTPError {
    var error = HTTPError(.bodyTooLarge, "the body exceeds its spooling limit of \(limit) bytes")
    error.mayHaveReachedServer = false
    return error
  }
}
