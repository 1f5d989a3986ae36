import MartletBase

/// The bytes of a composed body in order, with their announced lengths.
struct BodyPlan: Sendable {
  /// The maximum number of bytes passed on, or read from a file, at a time.
  static let block = 256 << 10

  /// The number of bytes, or `nil` if unknown.
  let length: Int64?
  /// Closures that each read a part of the bytes.
  private var passes: [BodySource.Pass] = []

  /// Checks the content again; a later change of its length fails the request.
  init(_ content: HTTPBody.Content) throws(HTTPError) {
    length = try content.check()
    try add(content)
  }

  private mutating func add(_ content: HTTPBody.Content) throws(HTTPError) {
    switch content {
    case .data(let data): passes.append { take in try await Self.send(data, to: take) }
    case .file(let url):
      let size = try HTTPBody.fileSize(url)
      passes.append { take in try await BodyFile.send(url, size: size, to: take) }
    case .stream(let source): passes.append(source.send)
    case .pieces(let contents): for content in contents { try add(content) }
    case .compressed(let plain, let coding):
      let plan = try BodyPlan(plain)
      passes.append { take in try await plan.send(compressedWith: coding, to: take) }
    case .spool(let spool): passes.append(spool.send)
    case .json(let value): try add(value.plain)
    case .invalid(let input): throw HTTPError(.invalidRequest, input.message)
    }
  }

  /// Reads all bytes; the next ones are read after `take` has returned.
  func send(to take: (Data) async throws -> Void) async throws {
    for pass in passes { try await pass(take) }
  }

  /// Reads all bytes to store them before they are sent; `write` receives blocks of more than `most` bytes.
  ///
  /// Returns the rest, which was not written, and the number of all bytes.
  func store(
    upTo limit: Int64, orThrow tooLarge: HTTPError, holding most: Int, write: (Data) async throws -> Void
  ) async throws -> (rest: Data, size: Int64) {
    var size: Int64 = 0
    var held = Data()
    try await send { piece in
      try Task.checkCancellation()
      guard Int64(piece.count) <= limit - size else { throw tooLarge }
      size += Int64(piece.count)
      // A sequence may deliver single octets, which are not worth a write each.
      held.append(piece)
      guard held.count > most else { return }
      try await write(held)
      held = Data()
    }
    // A sequence may end early because its task was cancelled; its bytes are then not the whole body.
    try Task.checkCancellation()
    return (held, size)
  }

  private static func send(_ data: Data, to take: (Data) async throws -> Void) async throws {
    var rest = data
    while !rest.isEmpty {
      try await take(rest.prefix(block))
      rest = rest.dropFirst(block)
    }
  }

  private func send(
    compressedWith coding: HTTPBody.Compression, to take: (Data) async throws -> Void
  ) async throws {
    let compressor = try Compressor(coding)
    try await send { piece in
      compressor.push(piece)
      while let made = try compressor.pull() { try await take(made) }
    }
    compressor.finish()
    while let made = try compressor.pull() { try await take(made) }
  }
}
