import MartletBase

extension HTTPBody {
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
  public func gzipped() -> HTTPBody {
    if isGzipped { return self }
    if case .invalid = content { return self }
    var body = HTTPBody(.gzip(content), contentType: contentType)
    body.isGzipped = true
    body.trailers = trailers
    return body
  }
}

extension HTTPRequest {
  /// Sets `Content-Encoding` if the body is gzipped.
  mutating func announceCoding() throws {
    guard var body, body.isGzipped else { return }
    guard !headers.contains("Content-Encoding") else {
      throw InvalidInput("a gzipped body sets 'Content-Encoding' itself, but the request has that header already")
    }
    body.isGzipped = false
    if case .gzip(let plain) = body.content, let length = plain.length, length <= HTTPBody.smallBytes,
      let data = try plain.gathered()
    {
      let made = try Deflater.gzip(data)
      let isSmaller = made.count < data.count
      body.content = .data(isSmaller ? made : data)
      if isSmaller { headers["Content-Encoding"] = "gzip" }
    } else {
      headers["Content-Encoding"] = "gzip"
    }
    self.body = body
  }
}
