public import MartletBase

/// The body of a request.
///
/// A body is a value that can be sent any number of times, unless it is a stream that can be read only once. Nothing is
/// read from disk before the body is sent. Creating a body never fails: a value that cannot be encoded, or a file that
/// does not exist, throws when the request is sent, before any byte is sent.
public struct HTTPBody: Sendable, Hashable {
  package enum Content: Sendable {
    case data(Data)
    case file(URL)
    case stream(BodySource)
    /// Several contents, in turn.
    case pieces([Content])
    /// The compressed form of another content.
    indirect case compressed(Content, Compression)
    /// A content that is read into a file before it is sent.
    case spool(BodySpool)
    /// A value that the sending client encodes.
    case json(DeferredJSON)
    case invalid(InvalidInput)
  }

  package var content: Content
  /// The coding of the compressed content, which `Content-Encoding` must announce.
  var compression: Compression?
  package var trailers: TrailerSource?

  /// The media type sent as `Content-Type`, unless the request has that header already.
  public var contentType: String?

  init(_ content: Content, contentType: String?) {
    self.content = content
    self.contentType = contentType
  }

  /// A body that cannot be sent.
  init(_ problem: InvalidInput) { self.init(.invalid(problem), contentType: nil) }

  /// A body with the given bytes.
  ///
  /// - Parameters:
  ///   - data: The bytes.
  ///   - contentType: Their media type; `nil` sends no `Content-Type`.
  /// - Returns: The body.
  public static func data(_ data: Data, contentType: String? = "application/octet-stream") -> HTTPBody {
    HTTPBody(.data(data), contentType: contentType)
  }

  /// A body of UTF-8 text.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - contentType: Its media type.
  /// - Returns: The body.
  public static func text(_ text: String, contentType: String = "text/plain; charset=utf-8") -> HTTPBody {
    HTTPBody(.data(Data(text.utf8)), contentType: contentType)
  }

  /// A value that the client encodes as JSON (RFC 8259), with ``HTTPClient/Configuration/encoder``.
  ///
  /// It is encoded when the request is sent, once for all attempts. If that fails, sending throws
  /// ``HTTPError/Kind/invalidRequest``.
  ///
  /// - Parameter value: The value. If it is not `Sendable`, or its `Encodable` conformance is isolated to an actor, use
  ///   `json(_:encoder:)` with an encoder.
  /// - Returns: The body.
  public static func json(_ value: some Encodable & Sendable) -> HTTPBody {
    HTTPBody(.json(DeferredJSON(value)), contentType: "application/json")
  }

  /// A value that is encoded as JSON (RFC 8259) immediately.
  ///
  /// - Parameters:
  ///   - value: The value. If it cannot be encoded, sending throws ``HTTPError/Kind/invalidRequest``.
  ///   - encoder: The encoder, instead of the client's.
  /// - Returns: The body.
  public static func json(_ value: some Encodable, encoder: JSONEncoder) -> HTTPBody {
    HTTPBody(.json(value, encoder), contentType: "application/json")
  }

  /// URL-encoded form fields (`application/x-www-form-urlencoded`, WHATWG URL Standard).
  ///
  /// - Parameter fields: The fields, in order; a field whose value is an array is repeated.
  /// - Returns: The body.
  public static func form(_ fields: Query) -> HTTPBody {
    HTTPBody(.data(FormEncoder.encode(fields)), contentType: "application/x-www-form-urlencoded")
  }

  /// URL-encoded form fields from a dictionary, sorted by name.
  ///
  /// - Parameter fields: The fields; a `nil` value is omitted, an array repeats its name.
  /// - Returns: The body.
  @_disfavoredOverload public static func form(_ fields: some QueryConvertible) -> HTTPBody {
    form(fields.requestQuery)
  }

  @available(*, unavailable, message: "declare it as [String: any QueryValue], and write .form(Query(fields))")
  public static func form(_ fields: [String: Any]) -> HTTPBody { form([:]) }

  /// The contents of a file, read in chunks while it is sent.
  ///
  /// - Parameters:
  ///   - url: A file URL. A file that does not exist or cannot be read throws ``HTTPError/Kind/fileFailed`` before
  ///     connecting.
  ///   - contentType: Its media type.
  /// - Returns: The body.
  public static func file(_ url: URL, contentType: String? = "application/octet-stream") -> HTTPBody {
    HTTPBody(.file(url), contentType: contentType)
  }

  /// The number of bytes, or `nil` if it is not known yet.
  ///
  /// For a file, this is its current size; for a stream, its declared length. The length of a ``compressed(_:)`` body, or of
  /// a value that the client encodes, is unknown until it is encoded.
  public var length: Int64? { content.length }

  /// Whether the same bytes can be sent again, for a retry or a redirect.
  ///
  /// `false` only for a stream that can be read once, and for a body that contains one.
  public var isReplayable: Bool { content.isReplayable }

  /// Whether trailers follow the body (``withTrailers(_:_:)``).
  public var hasTrailers: Bool { trailers != nil }

  var isUsable: Bool { content.isUsable }

  /// Throws why the body cannot be sent; returns its length, or `nil` if it is not announced.
  package func check() throws(HTTPError) -> Int64? {
    let length = try content.check()
    // Trailers require the chunked transfer coding, which excludes a length.
    return trailers == nil ? length : nil
  }

  @inline(never) static func fileSize(_ url: URL) throws(HTTPError) -> Int64 {
    guard url.isFileURL else {
      let text = URLRedaction.printable(url.absoluteString)
      throw HTTPError(.invalidRequest, "a file body needs a file URL, not '\(text)'")
    }
    let path = url.path(percentEncoded: false)
    let name = InvalidInput.printable(path)
    guard let facts = DiskCalls.targetFacts(path) else {
      throw HTTPError(.fileFailed, "the body file '\(name)' does not exist")
    }
    guard facts.isFile else { throw HTTPError(.fileFailed, "the body file '\(name)' is not a regular file") }
    guard FileManager.default.isReadableFile(atPath: path) else {
      throw HTTPError(.fileFailed, "the body file '\(name)' cannot be read")
    }
    return facts.size
  }
}

enum EncodingProblem {
  /// Describes an encoding error on one line.
  ///
  /// The line contains the coding path, but not the value, which may be a secret.
  static func describe(_ error: any Error, numbers: String = "JSON has no such number (RFC 8259 §6)") -> String {
    guard case EncodingError.invalidValue(let value, let context)? = error as? EncodingError else {
      return InvalidInput.printable(String(describing: type(of: error)))
    }
    let isNumber = (value as? any BinaryFloatingPoint)?.isFinite ?? true
    var reason = isNumber ? "" : ", which is NaN or infinite: \(numbers)"
    if case .digits? = value as? JSONValue { reason = ", which is a number of more than 38 digits or with an exponent" }
    return "a value of type \(type(of: value)) at \(DecodingProblem.place(context.codingPath))\(reason)"
  }
}
