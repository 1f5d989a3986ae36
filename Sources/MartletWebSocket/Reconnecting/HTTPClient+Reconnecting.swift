public import Martlet

extension HTTPClient {
  /// Creates a WebSocket that reconnects after a lost connection.
  ///
  /// ```swift
  /// let feed = client.reconnectingWebSocket("wss://feed.example.com/prices") { socket, _ in
  ///   try await socket.send(json: Subscription(symbols: ["AAPL"]))
  /// }
  /// for try await event in feed.events {
  ///   switch event {
  ///   case .opened: print("connected")
  ///   case .message(let message): show(message)
  ///   case .interrupted(let interruption): print("interrupted: \(interruption.cause)")
  ///   }
  /// }
  /// ```
  ///
  /// Nothing is sent before the first event is requested. If the first connection fails, its error is thrown, as for
  /// any request.
  ///
  /// - Parameters:
  ///   - request: The request of each connection; ``ReconnectingWebSocket/Options/prepare`` can change it.
  ///   - options: The delays, and the settings of each connection.
  ///   - resume: Uses each new connection before any other code: subscribes, or requests the messages after the last
  ///     received one. It receives the interruption before the connection; `nil` for the first connection. Messages
  ///     that it receives are not delivered again. Its error counts as that of the connection.
  /// - Returns: The WebSocket.
  public nonisolated func reconnectingWebSocket(
    _ request: HTTPRequest, options: ReconnectingWebSocket.Options = ReconnectingWebSocket.Options(),
    resume: @escaping @Sendable (WebSocket, ReconnectingWebSocket.Interruption?) async throws -> Void = { _, _ in }
  ) -> ReconnectingWebSocket {
    ReconnectingWebSocket(self, request, options, resume)
  }
}
