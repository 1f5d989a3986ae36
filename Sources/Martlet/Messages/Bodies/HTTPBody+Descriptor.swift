import MartletBase

extension HTTPBody {
  /// The bytes of standard input, which can be sent once.
  ///
  /// Like ``descriptor(_:length:contentType:)`` for descriptor 0.
  ///
  /// - Parameters:
  ///   - length: The number of bytes, or `nil` if it is unknown.
  ///   - contentType: The media type; `nil` sends no `Content-Type`.
  /// - Returns: The body.
  public static func standardInput(
    length: Int64? = nil, contentType: String? = "application/octet-stream"
  ) -> HTTPBody {
    descriptor(STDIN_FILENO, length: length, contentType: contentType)
  }

  /// The bytes of an open pipe, socket or file, which can be sent once.
  ///
  /// They are read from the current position to the end while the body is sent; <doc:Bodies> covers streams. A
  /// `FileHandle` has the descriptor `handle.fileDescriptor`. ``spooled(upTo:in:)`` lets the body be sent again. A
  /// request that ends early stops reading within 0.5 seconds, and may have read bytes that it did not send.
  ///
  /// A descriptor that cannot be read throws ``HTTPError/Kind/fileFailed`` while the request is sent.
  ///
  /// - Parameters:
  ///   - descriptor: The descriptor, which the caller keeps open until the request ends, and then closes.
  ///   - length: The number of bytes, or `nil` if it is unknown; see `stream(_:length:contentType:)`.
  ///   - contentType: The media type; `nil` sends no `Content-Type`.
  /// - Returns: The body.
  public static func descriptor(
    _ descriptor: Int32, length: Int64? = nil, contentType: String? = "application/octet-stream"
  ) -> HTTPBody {
    stream(DescriptorChunks(number: descriptor), length: length, contentType: contentType)
  }
}

/// The bytes of an open descriptor, from its current position to its end.
private struct DescriptorChunks: AsyncSequence, Sendable {
  /// The time between two checks for cancellation while no bytes arrive, in milliseconds.
  private static let wait: Int32 = 500

  let number: Int32

  struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let number: Int32

    mutating func next() async throws -> Data? {
      while true {
        try Task.checkCancellation()
        // Reading a pipe can block, so it must not happen on the cooperative thread pool.
        let block = try await onFileQueue { [number] () throws(HTTPError) in try DescriptorChunks.block(number) }
        if let block { return block.isEmpty ? nil : block }
      }
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(number: number) }

  /// The next bytes, none at the end, or `nil` if none have arrived yet.
  private static func block(_ number: Int32) throws(HTTPError) -> Data? {
    var state = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
    // Without the check, a negative number would never be ready.
    guard number < 0 || poll(&state, 1, wait) > 0 else { return nil }
    var block = Data(count: BodyPlan.block)
    let count = block.withUnsafeMutableBytes { read(number, $0.baseAddress, $0.count) }
    if count >= 0 { return block.prefix(count) }
    let code = errno
    if code == EAGAIN || code == EINTR { return nil }
    var error = HTTPError.file("descriptor \(number) cannot be read", code: code)
    error.phase = .sending
    error.mayHaveReachedServer = true
    throw error
  }
}
