extension HTTPClient {
  /// Reads the events that a server sends (WHATWG HTML §9.2), and connects again when the connection has ended.
  ///
  /// ```swift
  /// for try await event in client.serverSentEvents("/prices") { print(event.type, event.data) }
  /// ```
  ///
  /// The request gets `Accept: text/event-stream`, `Cache-Control: no-cache` and `Pragma: no-cache` unless it has these
  /// fields, and no cache is used. The server's `204` ends the events; so does the end of the connection, if the request is not to be sent
  /// again. A first connection that fails throws, as any request. After it a lost connection, silence longer than the
  /// idle limit and, on reconnects, 408, 425, 429 and 5xx are waited out, and the server is told the last event's
  /// identifier (`Last-Event-ID`).
  ///
  /// There is no total limit unless `options` set one; it is then for all connections together. That of the client does not
  /// apply: it is meant for requests that end, and would end the events for good. A server that is silent is noticed by
  /// ``TimeoutPolicy/idle``, also one that the client has set. ``RequestOptions/accepts`` means nothing here.
  ///
  /// - Parameters:
  ///   - request: The request, with any method and body; a literal is a `GET`. By default only an idempotent one is
  ///     sent again.
  ///   - options: When to reconnect, how large an event may be, and what is different for the request.
  /// - Returns: The events. Iterating throws ``HTTPError``: of kind ``HTTPError/Kind/status`` for another status than 200
  ///   and 204, ``HTTPError/Kind/decoding`` for what is no event stream, ``HTTPError/Kind/bodyTooLarge`` for an event
  ///   that is too large.
  public nonisolated func serverSentEvents(
    _ request: HTTPRequest, options: ServerSentEvents.Options = ServerSentEvents.Options()
  ) -> ServerSentEvents {
    ServerSentEvents(core, request, options, options.request.over(.timeout(nil)))
  }
}
