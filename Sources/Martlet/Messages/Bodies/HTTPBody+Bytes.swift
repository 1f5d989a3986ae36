public import MartletBase

extension HTTPBody {
  /// Reads the bytes of a body that can be sent again, for a signature or a checksum.
  ///
  /// ```swift
  /// let digest = sha256(try await request.body?.bytes() ?? Data())
  /// ```
  ///
  /// The bytes are those that are sent, after ``gzipped()`` and JSON encoding; trailers are not included. A file or a
  /// replayable stream is read again when the request is sent.
  ///
  /// - Parameter limit: The maximum number of bytes; 64 MiB by default.
  /// - Returns: The bytes.
  /// - Throws: ``HTTPError/Kind/bodyTooLarge`` for a larger body, ``HTTPError/Kind/bodyNotReplayable`` for a stream
  ///   that can be read only once (see ``collected(upTo:)``), ``HTTPError/Kind/fileFailed``,
  ///   ``HTTPError/Kind/invalidRequest`` for a value that cannot be encoded, the error of a stream, or
  ///   `CancellationError`.
  public func bytes(upTo limit: Int = 64 << 20) async throws -> Data {
    guard isReplayable else {
      throw HTTPError(.bodyNotReplayable, "reading the bytes would use up the body: send collected(upTo:) instead")
    }
    return try await read(upTo: limit)
  }

  /// A copy whose bytes are in memory and can be sent again, even if this body is a stream that can be read only once.
  ///
  /// The type and the trailers are the same.
  ///
  /// - Parameter limit: The maximum number of bytes; 64 MiB by default.
  /// - Returns: The body.
  /// - Throws: The errors of ``bytes(upTo:)``; ``HTTPError/Kind/bodyNotReplayable`` only for a stream that was read
  ///   before.
  public func collected(upTo limit: Int = 64 << 20) async throws -> HTTPBody {
    var copy = self
    copy.content = .data(try await read(upTo: limit))
    return copy
  }

  /// Reads the bytes in chunks, to store a body before it is sent.
  ///
  /// The bytes are the same as those of ``bytes(upTo:)``. A stream that can be read only once is then used up.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of bytes.
  ///   - write: Receives the chunks in order; the next one is read after it has returned. Each chunk except the last
  ///     has more than 64 KiB, and no chunk is empty.
  /// - Returns: The number of bytes.
  /// - Throws: ``HTTPError/Kind/bodyTooLarge`` for a larger body; before the first chunk if its length is known. The
  ///   errors of ``bytes(upTo:)``, and the error of `write`.
  @discardableResult
  public func write(upTo limit: Int64, to write: (Data) async throws -> Void) async throws -> Int64 {
    let tooLarge = HTTPError(.bodyTooLarge, "the request body exceeds \(limit) bytes")
    do {
      let plan = try BodyPlan(content)
      if let length = plan.length, length > limit { throw tooLarge }
      let (rest, size) = try await plan.store(upTo: limit, orThrow: tooLarge, holding: 64 << 10, write: write)
      if !rest.isEmpty { try await write(rest) }
      return size
    } catch var error as HTTPError {
      // Problems of a source are normally found while it is sent, but nothing was sent yet.
      (error.phase, error.mayHaveReachedServer) = (.queued, false)
      throw error
    }
  }

  private func read(upTo limit: Int) async throws -> Data {
    let tooLarge = HTTPError(.bodyTooLarge, "the request body exceeds \(limit) bytes")
    return try await BodyPlan(content).store(upTo: Int64(limit), orThrow: tooLarge, holding: .max) { _ in }.rest
  }
}
