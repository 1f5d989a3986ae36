import MartletBase

extension HTTPBody.Content {
  /// The number of bytes, or `nil` if it cannot be known now.
  package var length: Int64? {
    switch self {
    case .data(let data): Int64(data.count)
    case .file(let url): try? HTTPBody.fileSize(url)
    case .stream(let source): source.length
    case .pieces(let pieces): Self.sum(pieces.lazy.map(\.length))
    case .spool(let spool): spool.length
    case .compressed, .json, .invalid: nil
    }
  }

  /// The number of bytes before compression, or `nil` if it cannot be known now.
  var plainLength: Int64? {
    switch self {
    case .compressed(let plain, _): plain.plainLength
    case .pieces(let pieces): Self.sum(pieces.lazy.map(\.plainLength))
    default: length
    }
  }

  /// Whether the same bytes can be sent a second time.
  var isReplayable: Bool {
    switch self {
    case .data, .file, .spool, .json, .invalid: true
    case .stream(let source): source.isReplayable
    case .pieces(let pieces): pieces.allSatisfy(\.isReplayable)
    case .compressed(let plain, _): plain.isReplayable
    }
  }

  /// Whether the content can be sent, for the first time or again.
  var isUsable: Bool {
    switch self {
    case .data, .file, .json, .invalid: true
    case .stream(let source): source.isUsable
    case .pieces(let pieces): pieces.allSatisfy(\.isUsable)
    case .compressed(let plain, _): plain.isUsable
    case .spool(let spool): spool.isUsable
    }
  }

  /// Checks all that can be known before connecting.
  ///
  /// Returns the number of bytes to announce, or `nil` if it is unknown.
  func check() throws(HTTPError) -> Int64? {
    switch self {
    case .data(let data): return Int64(data.count)
    case .stream(let source):
      guard source.isUsable else { throw BodySource.used }
      return source.length
    case .json(let value): return try value.plain.check()
    case .invalid(let input): throw HTTPError(.invalidRequest, input.message)
    case .file(let url): return try HTTPBody.fileSize(url)
    case .pieces(let pieces):
      return Self.sum(try pieces.map { piece throws(HTTPError) in try piece.check() })
    case .compressed(let plain, let coding):
      try Compressor.check(coding)
      _ = try plain.check()
      return nil
    case .spool(let spool): return try spool.check()
    }
  }

  /// The contained spools that are not filled yet.
  var emptySpools: [BodySpool] {
    switch self {
    case .data, .file, .stream, .json, .invalid: []
    case .pieces(let pieces): pieces.flatMap(\.emptySpools)
    case .compressed(let plain, _): plain.emptySpools
    case .spool(let spool): spool.length == nil ? [spool] : []
    }
  }

  /// All bytes, or `nil` if they are not in memory.
  func gathered() throws(HTTPError) -> Data? {
    switch self {
    case .data(let data): return data
    case .json(let value): return try value.plain.gathered()
    case .pieces(let pieces):
      var whole = Data()
      for piece in pieces {
        guard let data = try piece.gathered() else { return nil }
        whole += data
      }
      return whole
    case .compressed(let plain, let coding):
      return try plain.gathered().map { data throws(HTTPError) in try Compressor.compress(data, coding) }
    case .file, .stream, .spool, .invalid: return nil
    }
  }

  private static func sum(_ lengths: some Sequence<Int64?>) -> Int64? {
    var sum: Int64 = 0
    for length in lengths {
      guard let length else { return nil }
      let (next, isTooLarge) = sum.addingReportingOverflow(length)
      guard !isTooLarge else { return nil }
      sum = next
    }
    return sum
  }
}

extension HTTPBody {
  /// The source of any body, to be read once.
  package func source(for request: HTTPRequest) throws -> BodySource {
    if case .stream(let source) = content { return source }
    return try content.source(nil, for: request)
  }

  /// The source of a composed or streamed body, or `nil` for bytes and files.
  package func composedSource(for request: HTTPRequest) throws -> BodySource? {
    switch content {
    case .data, .file, .invalid: nil
    case .stream, .pieces, .compressed, .spool, .json: try source(for: request)
    }
  }
}

extension HTTPBody.Content {
  /// The source of a composed body, to be read once.
  ///
  /// `announced` is the length that was announced, if any.
  func source(_ announced: Int64?, for request: HTTPRequest) throws -> BodySource {
    do throws(HTTPError) {
      let plan = try BodyPlan(self)
      if let announced, plan.length != announced {
        throw HTTPError(.fileFailed, "a file of the body has changed since its length was announced")
      }
      return BodySource(length: announced, isReplayable: true) { take in try await plan.send(to: take) }
    } catch {
      throw error.described(request)
    }
  }
}
