import MartletBase
import Foundation

/// A body that is read into a file before it is sent.
///
/// ```
///   empty ──fill──▶ filling ──▶ full
///     ▲                │
///     └─────failed─────┘     for the first who waits; the others try again
/// ```
///
/// The reading belongs to nobody alone: it ends early when the last one who waits for it has left.
package final class BodySpool: ComparedByIdentity {
  private struct Filling {
    /// Whether the file is full, or was given up and has to be filled again.
    var waiting: [OneShot<Bool>]
    var task: Task<Void, Never>?
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

  /// The number of those who wait for it, for tests.
  var waitingCount: Int { state.withLock { if case .filling(let filling) = $0 { filling.waiting.count } else { 0 } } }

  private var isBegun: Bool { state.withLock { if case .empty = $0 { false } else { true } } }

  // In this order: the second test finds a reading that has started in the meantime.
  var isUsable: Bool { content.isUsable || isBegun }

  func check() throws(InvalidBody) -> Int64? {
    if let length { return length }
    // During and after the reading, the original content may be unusable.
    do { _ = try content.check() } catch { guard isBegun else { throw error } }
    return nil
  }

  /// Reads the body into a file, unless that is done; `encoder` encodes its JSON values.
  func fill(_ encoder: JSONEncoder = .standard) async throws {
    while true {
      let turn = OneShot<Bool>()
      let (isFull, isFirst): (Bool, Bool) = state.withLock { state in
        switch state {
        case .full: return (true, false)
        case .filling(var filling):
          filling.waiting.append(turn)
          state = .filling(filling)
          return (false, false)
        case .empty:
          state = .filling(Filling(waiting: [turn]))
          return (false, true)
        }
      }
      if isFull { return }
      if isFirst { start(encoder) }
      let isDone = try await withTaskCancellationHandler {
        try await turn.value()
      } onCancel: {
        leave(turn)
      }
      if isDone { return }
    }
  }

  private func start(_ encoder: JSONEncoder) {
    let task = Task {
      do {
        let (file, size) = try await read(encoder)
        settle(.full(file, size: size), .success(true))
      } catch {
        settle(.empty, .failure(error))
      }
    }
    let isGivenUp = state.withLock { state in
      guard case .filling(var filling) = state else { return false }
      filling.task = task
      state = .filling(filling)
      return filling.isGivenUp
    }
    if isGivenUp { task.cancel() }
  }

  private func leave(_ turn: OneShot<Bool>) {
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
    let plan: BodyPlan
    do { plan = try BodyPlan(content.encoded(encoder)) } catch { throw HTTPRequest.error(error, of: nil) }
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
      throw problem("cannot be made in \(DiskCalls.shown(folder.path(percentEncoded: false)))", code)
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
