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
  /// They are read from the current position while the body is sent: to the end, or `length` bytes and nothing after
  /// them, so another message can follow on a socket. <doc:Bodies> covers streams. A `FileHandle` has the descriptor `handle.fileDescriptor`. ``spooled(upTo:in:)`` lets the body be sent again. A
  /// request that ends early stops reading within 0.5 seconds, and may have read bytes that it did not send.
  ///
  /// A descriptor that cannot be read, such as the end of a pipe for writing, throws ``HTTPError/Kind/fileFailed`` while the request is sent.
  ///
  /// - Parameters:
  ///   - descriptor: The descriptor, which the caller keeps open until the request ends, and then closes.
  ///   - length: The number of bytes, or `nil` if it is unknown; see `stream(_:length:contentType:)`.
  ///   - contentType: The media type; `nil` sends no `Content-Type`.
  /// - Returns: The body.
  public static func descriptor(
    _ descriptor: Int32, length: Int64? = nil, contentType: String? = "application/octet-stream"
  ) -> HTTPBody {
    stream(DescriptorChunks(number: descriptor, length: length), length: length, contentType: contentType)
  }
}

/// The bytes of an open descriptor from its current position: to its end, or as many as announced.
private struct DescriptorChunks: AsyncSequence, Sendable {
  /// The time between two checks for cancellation while no bytes arrive, in milliseconds.
  private static let wait: Int32 = 500

  let number: Int32
  let length: Int64?

  struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let number: Int32
    fileprivate var rest: Int64

    mutating func next() async throws -> Data? {
      let count = Int(clamping: Swift.min(rest, Int64(BodyPlan.block)))
      while count > 0 {
        try Task.checkCancellation()
        // Reading a pipe can block, so it must not happen on the cooperative thread pool.
        let block = try await onFileQueue { [number] () throws(HTTPError) in
          try DescriptorChunks.block(number, upTo: count)
        }
        guard let block else { continue }
        rest -= Int64(block.count)
        return block.isEmpty ? nil : block
      }
      return nil
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(number: number, rest: length ?? .max) }

  /// The next bytes, none at the end, or `nil` if none have arrived yet.
  private static func block(_ number: Int32, upTo limit: Int) throws(HTTPError) -> Data? {
    let flags = fcntl(number, F_GETFL)
    if flags < 0 { throw failure(number, errno) }
    // A descriptor for writing would never be ready for reading.
    if flags & O_ACCMODE == O_WRONLY { throw failure(number, EBADF) }
    var state = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
    guard poll(&state, 1, wait) > 0 else { return nil }
    var block = Data(count: limit)
    let count = block.withUnsafeMutableBytes { read(number, $0.baseAddress, $0.count) }
    if count >= 0 { return block.prefix(count) }
    let code = errno
    if code == EAGAIN || code == EINTR { return nil }
    throw failure(number, code)
  }

  private static func failure(_ number: Int32, _ code: Int32) -> HTTPError {
    var error = HTTPError.file("descriptor \(number) cannot be read", code: code)
    error.phase = .sending
    error.mayHaveReachedServer = true
    return error
  }
}
