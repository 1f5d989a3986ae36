struct LineReader {
  /// `nil` after the end or an error.
  private var body: ResponseBody.AsyncIterator?
  private var splitter: LineSplitter

  init(_ body: ResponseBody, _ ends: LineSplitter.Ends, upTo limit: Int) {
    self.body = body.makeAsyncIterator()
    splitter = LineSplitter(ends, upTo: limit)
  }

  /// Passes the next line to a closure; returns `nil` at the end and after an error.
  mutating func next<R>(_ use: (UnsafeRawBufferPointer) throws -> R) async throws -> R? {
    // Taken out, so an error releases it immediately, which ends the exchange.
    guard var body = body.take() else { return nil }
    while true {
      if let line = try splitter.next(use) {
        self.body = body
        return line
      }
      guard let piece = try await body.next() else { return try splitter.finish(use) }
      splitter.push(piece)
    }
  }
}
