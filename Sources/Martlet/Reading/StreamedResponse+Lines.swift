extension StreamedResponse {
  /// The lines of a body, as they arrive.
  ///
  /// A line ends with LF, CR LF or a CR by itself; the end is not part of it. The last line needs no end, and a body
  /// that ends with one has no empty line after it. Bytes are read as UTF-8: what is invalid becomes U+FFFD, and a
  /// byte order mark at the beginning is left out. Where the pieces of the body begin and end makes no difference.
  ///
  /// Made by ``StreamedResponse/lines``. Readable once, as the body is.
  public struct Lines: AsyncSequence, Sendable {
    public typealias Element = String
    public typealias Failure = any Error

    private let body: ResponseBody
    private let limit: Int

    init(_ body: ResponseBody, upTo limit: Int) {
      self.body = body
      self.limit = limit
    }

    /// Iterates over lines.
    public struct AsyncIterator: AsyncIteratorProtocol {
      private var reader: LineReader

      fileprivate init(_ reader: LineReader) { self.reader = reader }

      /// The next line, or `nil` at the end and after an error.
      ///
      /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/bodyTooLarge`` for a line that is too long, and what reading
      ///   the body throws.
      public mutating func next() async throws -> String? {
        try await reader.next { String(decoding: $0, as: UTF8.self) }
      }
    }

    /// Starts reading.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(LineReader(body, .any, upTo: limit)) }
  }
}
