extension HTTPClient {
  /// Checks and completes a request as if it were sent, but sends nothing.
  ///
  /// For code that stores a request and sends it later. The target is the absolute URL without fragment, and contains
  /// the query items. The body is encoded with ``Configuration/encoder``, its spools (``HTTPBody/spooled(upTo:in:)``)
  /// are filled, and its `Content-Type` and `Content-Encoding` are header fields. The client's other fields, its
  /// cookies and its credential are not added: sending the request adds them.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - options: The per-request options with which it will be sent.
  /// - Returns: The request.
  /// - Throws: ``HTTPError``: the kinds that a request throws before it is sent, such as
  ///   ``HTTPError/Kind/invalidRequest`` and ``HTTPError/Kind/fileFailed``, and ``HTTPError/Kind/invalidRequest`` for a
  ///   URL with a user name, whose password would be stored. An error from a body stream that is spooled;
  ///   `CancellationError`.
  @concurrent public nonisolated func prepare(
    _ request: HTTPRequest, options: RequestOptions = RequestOptions()
  ) async throws -> HTTPRequest {
    let settings = core.settings
    let coders = settings.configuration.coders
    var asked = request
    asked.encodeBody(with: coders)
    for spool in asked.body?.content.emptySpools ?? [] { try await spool.fill(coders.encoder) }
    let (hop, _) = try RequestGate.admit(
      asked, settings: settings, options: ResolvedOptions(options.over(settings.configuration.options)), credential: nil
    )
    guard hop.url.user == nil else {
      throw HTTPError(
        .invalidRequest, "the URL has a user name, and its password would be stored; set the client's credential",
        request: asked)
    }
    var headers = asked.headers
    for name in ["Content-Type", "Content-Encoding"] where !headers.contains(name) {
      headers[name] = hop.request.headers[name]
    }
    return HTTPRequest(asked.method, RequestTarget(hop.url.requestString), headers: headers, body: hop.body)
  }
}
