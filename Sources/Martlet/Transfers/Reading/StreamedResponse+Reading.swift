public import MartletBase

extension StreamedResponse {
  /// The media type of the body, or `nil` if it is missing or malformed.
  public var contentType: MediaType? { headers["Content-Type"].flatMap { MediaType($0) } }

  /// The lines of the body in UTF-8, as they arrive, each of at most 1 MiB.
  ///
  /// LF, CR LF and CR end a line. A longer line throws ``HTTPError/Kind/bodyTooLarge``; `lines(upTo:)` sets another
  /// limit.
  public var lines: Lines { lines(upTo: 1 << 20) }

  /// The lines of the body in UTF-8, as they arrive.
  ///
  /// - Parameter limit: The maximum number of bytes of a line, without its line ending; a longer line throws
  ///   ``HTTPError/Kind/bodyTooLarge``.
  /// - Returns: The lines.
  public func lines(upTo limit: Int) -> Lines { body.lines(upTo: limit) }

  /// The values of a body with one JSON text per line, as they arrive.
  ///
  /// - Parameters:
  ///   - type: The type of the values.
  ///   - decoder: The decoder; by default the client's.
  ///   - limit: The maximum number of bytes of a line; 1 MiB by default.
  /// - Returns: The values.
  public func jsonLines<T: Decodable & Sendable>(
    as type: T.Type = T.self, decoder: JSONDecoder? = nil, upTo limit: Int = 1 << 20
  ) -> JSONLines<T> {
    JSONLines(body: body, decoder: decoder ?? coders?.decoder ?? JSONDecoder(), limit: limit)
  }

  /// Reads the body to its end.
  ///
  /// - Parameter limit: The maximum number of bytes, after decompression.
  /// - Returns: The whole body.
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/bodyTooLarge`` as soon as `limit` is exceeded.
  public func collect(upTo limit: Int) async throws -> Data { try await body.collect(upTo: limit) }

  /// The whole body as text, up to 100 MiB.
  ///
  /// Decoded like ``HTTPResponse/text``. A longer body throws ``HTTPError/Kind/bodyTooLarge``.
  public var text: String {
    get async throws { try await text(upTo: 100 << 20) }
  }

  /// Reads the body to its end, as text.
  ///
  /// - Parameter limit: The maximum number of bytes, after decompression.
  /// - Returns: The text.
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/bodyTooLarge`` as soon as `limit` is exceeded.
  public func text(upTo limit: Int) async throws -> String {
    TextDecoding.decode(try await collect(upTo: limit), contentType: contentType).text
  }
}

extension ResponseBody {
  /// The lines of the body in UTF-8, as they arrive, each of at most 1 MiB.
  ///
  /// LF, CR LF and CR end a line. A longer line throws ``HTTPError/Kind/bodyTooLarge``; `lines(upTo:)` sets another
  /// limit.
  public var lines: StreamedResponse.Lines { lines(upTo: 1 << 20) }

  /// The lines of the body in UTF-8, as they arrive.
  ///
  /// - Parameter limit: The maximum number of bytes of a line, without its line ending; a longer line throws
  ///   ``HTTPError/Kind/bodyTooLarge``.
  /// - Returns: The lines.
  public func lines(upTo limit: Int) -> StreamedResponse.Lines { StreamedResponse.Lines(body: self, limit: limit) }
}
