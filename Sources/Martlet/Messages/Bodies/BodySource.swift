package import MartletBase

/// The source of a streamed request body.
///
/// It records whether reading has started: a source that can be read only once is never sent a second time, and never
/// mistaken for an empty one.
package final class BodySource: ComparedByIdentity {
  typealias Pass = @Sendable (_ take: (Data) async throws -> Void) async throws -> Void

  package let length: Int64?
  package let isReplayable: Bool
  private let isRepeatable: @Sendable () -> Bool
  private let pass: Pass
  private let isStarted = Locked(false)

  init(
    length: Int64?, isReplayable: Bool, isRepeatable: @escaping @Sendable () -> Bool = { true }, _ pass: @escaping Pass
  ) {
    self.length = length
    self.isReplayable = isReplayable
    self.isRepeatable = isRepeatable
    self.pass = pass
  }

  /// Creates a source from a sequence that can be read once.
  static func once<Pieces: AsyncSequence & Sendable>(
    _ pieces: Pieces, length: Int64?, _ data: @escaping @Sendable (Pieces.Element) -> Data
  ) -> BodySource {
    // Taken out when reading starts, so the sequence is released when reading ends.
    let box = Locked<Pieces?>(pieces)
    return BodySource(length: length, isReplayable: false) { take in
      guard let taken = box.withLock({ $0.take() }) else { throw used }
      for try await piece in taken { try await take(data(piece)) }
    }
  }

  /// Whether the body can be sent, for the first time or again.
  package var isUsable: Bool { (isReplayable && isRepeatable()) || !isStarted.withLock { $0 } }

  /// Marks the source as started, and as used if it can be read only once.
  package func begin() { isStarted.withLock { $0 = true } }

  /// Reads the source to its end; `take` receives each non-empty chunk.
  ///
  /// The next chunk is requested after `take` has returned. Another number of bytes than the length throws
  /// ``HTTPError/Kind/invalidRequest``. The end of a source whose task is cancelled throws `CancellationError`: many
  /// sequences then end without an error.
  package func send(to take: (Data) async throws -> Void) async throws {
    begin()
    var count: Int64 = 0
    try await pass { piece in
      guard !piece.isEmpty else { return }
      count += Int64(piece.count)
      if let length, count > length { throw Self.mismatch("has more than the \(length) bytes announced") }
      try await take(piece)
    }
    try Task.checkCancellation()
    if let length, count < length {
      throw Self.mismatch("ended after \(count) of the \(length) bytes announced")
    }
  }

  private static func mismatch(_ what: String) -> HTTPError {
    var error = HTTPError(.invalidRequest, "the body stream \(what)", phase: .sending)
    error.mayHaveReachedServer = true
    return error
  }

  /// The error of a second reading of a source that can be read only once.
  static var used: HTTPError {
    HTTPError(
      .bodyNotReplayable, "the body is a stream that has been read already: create it with a closure to send it again")
  }
}

/// An object that equals only itself.
package protocol ComparedByIdentity: AnyObject, Hashable, Sendable {}

extension ComparedByIdentity {
  package static func == (one: Self, other: Self) -> Bool { one === other }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
