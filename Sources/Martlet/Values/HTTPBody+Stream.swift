public import Foundation

extension HTTPBody {
  /// A body from an asynchronous sequence of chunks, which can be sent once.
  ///
  /// The sequence is read in a task of its own when the connection is there, and no faster than the server takes it:
  /// about 256 KiB wait in memory. That task is cancelled when the exchange ends, whatever ends it. What the sequence
  /// throws ends the call, which throws it unchanged, and the server never gets a whole request.
  ///
  /// The body can be sent once. A second request with it, a retry after it was begun, and a redirect that wants it
  /// again throw ``HTTPError/Kind/bodyNotReplayable``, or the failure that would have been retried; use
  /// ``stream(length:contentType:_:)`` where that matters. While the sequence has nothing to give, no idle limit
  /// applies; ``TimeoutPolicy/total`` does.
  ///
  /// - Parameters:
  ///   - pieces: The bytes; empty pieces are skipped.
  ///   - length: How many bytes there are, or `nil` if that is not known: they are then sent in chunks (RFC 9112 §7.1).
  ///     The last bytes of a known length are sent when the sequence has ended. One that has more or fewer bytes fails
  ///     the request and its connection with ``HTTPError/Kind/invalidRequest``.
  ///   - contentType: Their media type; `nil` sends no `Content-Type`.
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
  ///   - pieces: The bytes; empty pieces are skipped.
  ///   - length: How many bytes there are, or `nil` if that is not known.
  ///   - contentType: Their media type; `nil` sends no `Content-Type`.
  /// - Returns: The body.
  public static func stream<Pieces: AsyncSequence & Sendable>(
    _ pieces: Pieces, length: Int64? = nil, contentType: String? = "application/octet-stream"
  ) -> HTTPBody where Pieces.Element == [UInt8] {
    stream(.once(pieces, length: length) { Data($0) }, contentType)
  }

  /// A body from an asynchronous sequence that a closure creates each time it is sent.
  ///
  /// Such a body can be sent again, as a retry or a redirect needs it. Otherwise it is like
  /// `stream(_:length:contentType:)`.
  ///
  /// - Parameters:
  ///   - length: How many bytes each of the sequences has, or `nil` if that is not known.
  ///   - contentType: Their media type; `nil` sends no `Content-Type`.
  ///   - make: Makes a sequence of all the bytes; it is called in a task of its own, for each attempt that comes as
  ///     far as sending the body. What it throws ends the call, which throws it unchanged.
  /// - Returns: The body.
  public static func stream<Pieces: AsyncSequence & SendableMetatype>(
    length: Int64? = nil, contentType: String? = "application/octet-stream",
    _ make: @escaping @Sendable () throws -> Pieces
  ) -> HTTPBody where Pieces.Element == Data, Pieces.AsyncIterator: SendableMetatype {
    stream(.again(length: length, make), contentType)
  }

  private static func stream(_ source: BodySource, _ contentType: String?) -> HTTPBody {
    if let length = source.length, length < 0 {
      return HTTPBody(.invalid(InvalidInput("a body stream of \(length) bytes")), contentType: nil)
    }
    return HTTPBody(.stream(source), contentType: contentType)
  }
}
