extension HTTPClient {
  /// Reads server-sent events (WHATWG HTML §9.2), and reconnects when the connection ends.
  ///
  /// ```swift
  /// for try await event in client.serverSentEvents("/prices") { print(event.type, event.data) }
  /// ```
  ///
  /// The request gets `Accept: text/event-stream`, `Cache-Control: no-cache` and `Pragma: no-cache` unless it has these
  /// fields, and does not use the cache. The events end with a `204`, and with the connection if the request is not to
  /// be sent again. If the first connection fails, the error is thrown, as for any request. Later, the client
  /// reconnects after a lost connection, silence longer than the idle limit, and a reconnect whose response is 408,
  /// 425, 429 or 5xx; it sends the last event's identifier (`Last-Event-ID`).
  ///
  /// There is no total time limit unless `options` set one, which then covers all connections together. The client's
  /// total limit is meant for requests that end, so it does not apply. ``TimeoutPolicy/idle``, set for the client or in
  /// `options`, detects a silent server. ``RequestOptions/accepts`` is ignored.
  ///
  /// - Parameters:
  ///   - request: The request, with any method and body; a literal is a `GET`. By default only a request with an
  ///     idempotent method is sent again.
  ///   - options: The reconnection policy, the maximum event size, and the options of the request.
  /// - Returns: The events. Iterating throws ``HTTPError``: of kind ``HTTPError/Kind/status`` for a status other than
  ///   200 and 204, ``HTTPError/Kind/decoding`` for a response that is not an event stream,
  ///   ``HTTPError/Kind/bodyTooLarge`` for an event that is too large. ``HTTPError/response`` contains the beginning of a
  ///   refused response, read for at most 2 seconds.
  public nonisolated func serverSentEvents(
    _ request: HTTPRequest, options: ServerSentEvents.Options = ServerSentEvents.Options()
  ) -> ServerSentEvents {
    ServerSentEvents(core: core, request: request, options: options)
  }

  /// Reads the server-sent events of a target in a variable, such as a `URL` or a `String`.
  ///
  /// See ``serverSentEvents(_:options:)-(HTTPRequest,_)``.
  @_disfavoredOverload public nonisolated func serverSentEvents(
    _ target: some RequestTargetConvertible, options: ServerSentEvents.Options = ServerSentEvents.Options()
  ) -> ServerSentEvents {
    serverSentEvents(.get(target.requestTarget), options: options)
  }
}
