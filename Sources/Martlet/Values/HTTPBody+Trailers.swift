import MartletBase

extension HTTPBody {
  /// The same body, followed by trailer fields (RFC 9110 §6.5).
  ///
  /// For what is known only when the body has been sent, such as a digest of a stream.
  ///
  /// ```swift
  /// let digest = Digest()
  /// let body = HTTPBody.stream(digest.reading(pieces)).withTrailers(["Content-Digest"]) {
  ///   ["Content-Digest": digest.field]
  /// }
  /// ```
  ///
  /// The names are announced in the field `Trailer`. The body is sent in chunks (RFC 9112 §7.1), whatever its length, and
  /// the request goes over HTTP/1.1, on a connection of its own if it is one of TLS: libcurl sends trailers over no other
  /// version. ``HTTPVersion/http2`` and ``HTTPVersion/http1_0`` throw ``HTTPError/Kind/unsupported``; so do the system's
  /// loader and ``Outbox``. Whether the server looks at trailers is for its documentation to say: most do not.
  ///
  /// Names that are no tokens, or of fields that must not be trailers (framing, routing, request modifiers,
  /// authentication, content format; RFC 9110 §6.5.1), throw ``HTTPError/Kind/invalidRequest`` before anything is sent. So
  /// does, after the body, a field that could not be a header field or was not announced, and more than 63 KiB: the
  /// server then never gets a whole request.
  ///
  /// - Parameters:
  ///   - names: The names of the fields; not all need to be sent.
  ///   - make: Makes the fields; it is called when the body has ended, once for each time that it is sent. What it throws
  ///     ends the call, which throws it unchanged.
  /// - Returns: The body.
  public func withTrailers(
    _ names: [String], _ make: @escaping @Sendable () async throws -> HTTPHeaders
  ) -> HTTPBody {
    if case .invalid = content { return self }
    do { try TrailerRules.check(names: names) } catch { return HTTPBody(.invalid(error), contentType: nil) }
    var body = self
    body.trailers = TrailerSource(names: names, make)
    return body
  }
}

/// Where the trailers of a request come from.
package final class TrailerSource: Sendable {
  /// The names that are announced.
  package let names: [String]
  private let make: @Sendable () async throws -> HTTPHeaders

  package init(names: [String], _ make: @escaping @Sendable () async throws -> HTTPHeaders) {
    self.names = names
    self.make = make
  }

  /// Makes the fields, after the end of the body; ``HTTPError/Kind/invalidRequest`` if they must not be sent.
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

extension TrailerSource: Hashable {
  package static func == (first: TrailerSource, second: TrailerSource) -> Bool { first === second }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
