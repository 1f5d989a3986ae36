extension StreamedResponse {
  /// The lines of a body, as they arrive.
  ///
  /// A line ends with LF, CR LF or CR, which is not part of it. The last line needs no line ending, and a line ending
  /// at the end of the body starts no empty line. Bytes are decoded as UTF-8: invalid bytes become U+FFFD, and a
  /// leading byte order mark is dropped. Chunk boundaries do not matter.
  ///
  /// Created by ``StreamedResponse/lines``. Readable once, like the body.
  public struct Lines: AsyncSequence, Sendable {
    public typealias Element = String
    public typealias Failure = any Error

    let body: ResponseBody
    let limit: Int

    /// Iterates over lines.
    public struct AsyncIterator: AsyncIteratorProtocol {
      fileprivate var reader: LineReader

      /// The next line, or `nil` at the end and after an error.
      ///
      /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/bodyTooLarge`` for a line that is too long, and any error
      ///   from reading the body.
      public mutating func next() async throws -> String? {
        try await reader.next { String(decoding: $0, as: UTF8.self) }
      }
    }

    /// Starts reading.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: LineReader(body, .any, upTo: limit)) }
  }
}
