public import MartletBase

extension HTTPBody {
  /// A body from an asynchronous sequence of chunks, which can be sent once.
  ///
  /// A separate task reads the sequence once the connection is established, no faster than the server accepts data;
  /// about 256 KiB are buffered. The task is cancelled when the exchange ends. An error that the sequence throws ends
  /// the call and is thrown unchanged, and the server never receives a complete request.
  ///
  /// Sending the body again (with a second request, a retry after sending has begun, or a redirect that needs the body)
  /// throws ``HTTPError/Kind/bodyNotReplayable``, or the failure that would have been retried; use
  /// ``stream(length:contentType:_:)`` for a body that can be sent again. While the sequence produces no data, no idle
  /// limit applies, only ``TimeoutPolicy/total``.
  ///
  /// - Parameters:
  ///   - pieces: The bytes; empty chunks are skipped.
  ///   - length: The number of bytes, or `nil` if it is unknown; over HTTP/1.1 the body then uses the chunked transfer
  ///     coding (RFC 9112 §7.1). The last bytes of a known length are sent when the sequence ends, at the latest 50 ms
  ///     after they were read. A sequence with more or fewer bytes fails the request with
  ///     ``HTTPError/Kind/invalidRequest`` and ends its connection.
  ///   - contentType: The media type; `nil` sends no `Content-Type`.
  /// - Returns: The body.
  public static func stream<Pieces: AsyncSequence & Sendable>(
    _ pieces: Pieces, length: Int64? = nil, contentType: String? = "application/octet-stream"
  ) -> HTTPBody where Pieces.Element == Data {
    stream(.once(pieces, length: length) { $0 }, contentType)
  }

  /// A body from an asynchronous sequence of byte arrays, which can be sent once.
  ///
  /// Like ``stream(_:length:contentType:)`` for a sequence of `Data`.
  ///
  /// - Parameters:
  ///   - pieces: The bytes; empty chunks are skipped.
  ///   - length: The number of bytes, or `nil` if it is unknown.
  ///   - contentType: The media type; `nil` sends no `Content-Type`.
  /// - Returns: The body.
  public static func stream<Pieces: AsyncSequence & Sendable>(
    _ pieces: Pieces, length: Int64? = nil, contentType: String? = "application/octet-stream"
  ) -> HTTPBody where Pieces.Element == [UInt8] {
    stream(.once(pieces, length: length) { Data($0) }, contentType)
  }

  /// A body from an asynchronous sequence that a closure creates each time it is sent.
  ///
  /// It can be sent again for a retry or a redirect. Otherwise it behaves like `stream(_:length:contentType:)`.
  ///
  /// - Parameters:
  ///   - length: The number of bytes of each sequence, or `nil` if it is unknown.
  ///   - contentType: The media type; `nil` sends no `Content-Type`.
  ///   - make: Creates a sequence of all the bytes. It is called in a separate task, once for each attempt that gets as
  ///     far as sending the body. An error that it throws ends the call and is thrown unchanged.
  /// - Returns: The body.
  public static func stream<Pieces: AsyncSequence & SendableMetatype>(
    length: Int64? = nil, contentType: String? = "application/octet-stream",
    _ make: @escaping @Sendable () throws -> Pieces
  ) -> HTTPBody where Pieces.Element == Data, Pieces.AsyncIterator: SendableMetatype {
    stream(length: length, contentType: contentType, isRepeatable: { true }, make)
  }

  /// Like `stream(length:contentType:_:)`, for a sequence that cannot be created again once `isRepeatable` is `false`.
  package static func stream<Pieces: AsyncSequence & SendableMetatype>(
    length: Int64?, contentType: String?, isRepeatable: @escaping @Sendable () -> Bool,
    _ make: @escaping @Sendable () throws -> Pieces
  ) -> HTTPBody where Pieces.Element == Data, Pieces.AsyncIterator: SendableMetatype {
    let source = BodySource(length: length, isReplayable: true, isRepeatable: isRepeatable) { take in
      for try await piece in try make() { try await take(piece) }
    }
    return stream(source, contentType)
  }

  private static func stream(_ source: BodySource, _ contentType: String?) -> HTTPBody {
    if let length = source.length, length < 0 {
      return HTTPBody(InvalidInput("the body stream's length is \(length); it must not be negative"))
    }
    return HTTPBody(.stream(source), contentType: contentType)
  }
}
