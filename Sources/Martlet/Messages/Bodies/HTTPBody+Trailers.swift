import MartletBase

extension HTTPBody {
  /// The same body, followed by trailer fields (RFC 9110 §6.5).
  ///
  /// For values that are known only after the body has been sent, such as the digest of a stream.
  ///
  /// ```swift
  /// let digest = Digest()
  /// let body = HTTPBody.stream(digest.reading(pieces)).withTrailers(["Content-Digest"]) {
  ///   ["Content-Digest": digest.field]
  /// }
  /// ```
  ///
  /// The names are announced in the `Trailer` field. The body uses the chunked transfer coding (RFC 9112 §7.1),
  /// whatever its length, and the request is sent over HTTP/1.1, because libcurl sends trailers over no other version;
  /// an https request has its own connection. ``RequestOptions/HTTPVersionPolicy/http2`` and
  /// ``RequestOptions/HTTPVersionPolicy/http1_0`` throw ``HTTPError/Kind/unsupported``; so do the system's loader and
  /// `Outbox`. Most servers ignore trailers: check the server's documentation.
  ///
  /// Names that are not tokens, and names of fields that must not be trailers (framing, routing, request modifiers,
  /// authentication, content format; RFC 9110 §6.5.1), throw ``HTTPError/Kind/invalidRequest`` before anything is sent.
  /// A field that is invalid or was not announced, or more than 63 KiB of fields, throws the same error after the body,
  /// and the server never receives a complete request.
  ///
  /// - Parameters:
  ///   - names: The names of the fields; a field may be omitted later.
  ///   - make: Creates the fields. It is called after the end of the body, each time the body is sent. An error that it
  ///     throws ends the call and is thrown unchanged.
  /// - Returns: The body.
  public func withTrailers(
    _ names: [String], _ make: @escaping @Sendable () async throws -> HTTPHeaders
  ) -> HTTPBody {
    if case .invalid = content { return self }
    do { try TrailerRules.check(names: names) } catch { return HTTPBody(error) }
    var body = self
    body.trailers = TrailerSource(names: names, make)
    return body
  }
}

package final class TrailerSource: ComparedByIdentity {
  package let names: [String]
  private let make: @Sendable () async throws -> HTTPHeaders

  package init(names: [String], _ make: @escaping @Sendable () async throws -> HTTPHeaders) {
    self.names = names
    self.make = make
  }

  /// Creates the fields, after the end of the body.
  ///
  /// Throws ``HTTPError/Kind/invalidRequest`` if they must not be sent.
  package func fields() async throws -> HTTPHeaders {
    let fields = try await make()
    do {
      try TrailerRules.check(fields, names: names)
    } catch {
      var error = HTTPError(.invalidRequest, error.message, phase: .sending)
      error.mayHaveReachedServer = true
      throw error
    }
    return fields
  }
}
