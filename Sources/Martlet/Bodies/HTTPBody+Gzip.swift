import Foundation

extension HTTPBody {
  /// Up to how many bytes in memory are gzipped at once, so that it is known whether that makes them fewer.
  static let smallBytes = 64 << 10

  /// The same body, compressed with gzip (RFC 1952) while it is sent, with `Content-Encoding: gzip`.
  ///
  /// The server has to know how to undo that; most do not unless they are told to, and answer 415. Nothing is written to a
  /// second file, and no more than some hundred kilobytes are in memory. The length is not known before the end: over
  /// HTTP/1.1 the body is sent in chunks (RFC 9112 §7.1), unless it is ``spooled(upTo:in:)``. A body in memory of at most
  /// 64 KiB is compressed before, and sent as it is if that does not make it smaller.
  ///
  /// What can be sent again stays so. A body that is gzipped already is returned as it is. The zlib of the system is used;
  /// without one the request throws ``HTTPError/Kind/unsupported``. A request that has a field `Content-Encoding` of its own
  /// throws ``HTTPError/Kind/invalidRequest``.
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
  /// Says in a field how the body is coded, if it is.
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
