import MartletBase

extension HTTPBody {
  /// A content coding of a request body (RFC 9110 §8.4.1).
  @nonexhaustive public enum Compression: String, Sendable, Hashable, CaseIterable {
    /// gzip (RFC 1952), with the system's zlib.
    case gzip
    /// Brotli (RFC 7932), with the system's libbrotlienc; only on Linux.
    case brotli = "br"
    /// Zstandard (RFC 8878), with the system's libzstd; only on Linux.
    case zstd
  }

  /// The maximum size of a body in memory that is compressed in advance.
  ///
  /// Its compressed size is known before it is sent, and used only if it is smaller.
  static let smallBytes = 64 << 10

  /// The same body, compressed with gzip (RFC 1952) while it is sent, with `Content-Encoding: gzip`.
  ///
  /// The server must support gzip in requests; most servers do not unless configured to, and respond with 415. No
  /// temporary file is written, and no more than a few hundred kilobytes are in memory. The length is unknown until the
  /// end: over HTTP/1.1 the body uses the chunked transfer coding (RFC 9112 §7.1), unless it is ``spooled(upTo:in:)``.
  /// A body in memory of at most 64 KiB is compressed in advance, and sent uncompressed if compression does not make it
  /// smaller.
  ///
  /// Compression does not change whether the body can be sent again. A body that is already gzipped is returned
  /// unchanged. The system's zlib is used; without it the request throws ``HTTPError/Kind/unsupported``. A request with
  /// its own `Content-Encoding` field throws ``HTTPError/Kind/invalidRequest``.
  ///
  /// - Returns: The body.
  public func gzipped() -> HTTPBody { compressed(.gzip) }

  /// The same body, compressed while it is sent, with `Content-Encoding`.
  ///
  /// Otherwise the same as ``gzipped()``. While a body is compressed, Brotli uses about 5 MB of memory, and Zstandard
  /// 2 MB. A system without the coding's library throws ``HTTPError/Kind/unsupported`` before anything is sent. A body
  /// that is already compressed with another coding throws ``HTTPError/Kind/invalidRequest``.
  ///
  /// - Parameter compression: The content coding.
  /// - Returns: The body.
  public func compressed(_ compression: Compression) -> HTTPBody {
    if self.compression == compression { return self }
    if let first = self.compression {
      return HTTPBody(
        InvalidInput("the body is compressed with \(first.rawValue) already: choose it or \(compression.rawValue)"))
    }
    if case .invalid = content { return self }
    var body = HTTPBody(.compressed(content, compression), contentType: contentType)
    body.compression = compression
    body.trailers = trailers
    return body
  }
}

extension HTTPRequest {
  /// Sets `Content-Encoding` if the body is compressed.
  mutating func announceCoding() throws {
    guard var body, let coding = body.compression else { return }
    guard !headers.contains("Content-Encoding") else {
      throw InvalidInput("a compressed body sets 'Content-Encoding' itself, but the request has that header already")
    }
    body.compression = nil
    if case .compressed(let plain, _) = body.content, let length = plain.length, length <= HTTPBody.smallBytes,
      let data = try plain.gathered()
    {
      let made = try Compressor.compress(data, coding)
      let isSmaller = made.count < data.count
      body.content = .data(isSmaller ? made : data)
      if isSmaller { headers["Content-Encoding"] = coding.rawValue }
    } else {
      headers["Content-Encoding"] = coding.rawValue
    }
    self.body = body
  }
}
