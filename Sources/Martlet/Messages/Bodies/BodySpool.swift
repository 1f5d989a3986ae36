import MartletBase
import Foundation

/// A body that is read into a file before it is sent.
///
/// ```
///   empty ──fill──▶ filling ──▶ full
///     ▲                │
///     └───failed───────┘     each waiter tries again
/// ```
package final class BodySpool: ComparedByIdentity {
  private enum State {
    case empty
    case filling([OneShot<Void>])
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
      let turn = OneShot<Void>()
      let (isMine, isFull): (Bool, Bool) = state.withLock {
        switch $0 {
        case .full: return (false, true)
        case .filling(let waiting):
          $0 = .filling(waiting + [turn])
          return (false, false)
        case .empty:
          $0 = .filling([])
          return (true, false)
        }
      }
      if isFull { return }
      guard isMine else {
        try await turn.value()
        continue
      }
      do {
        let (file, size) = try await read(encoder)
        settle(.full(file, size: size))
      } catch {
        settle(.empty)
        throw error
      }
    }
  }

  private func settle(_ new: State) {
    let waiting = state.withLock { state in
      defer { state = new }
      if case .filling(let waiting) = state { return waiting }
      return []
    }
    for turn in waiting { turn.resolve(.success(())) }
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
