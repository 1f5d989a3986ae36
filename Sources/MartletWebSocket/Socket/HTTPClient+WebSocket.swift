public import Martlet
import MartletBase

extension HTTPClient {
  /// Opens a WebSocket (RFC 6455).
  ///
  /// The request passes all stages of the client: guards, cookies, credentials, redirects and retries. It uses HTTP/1.1
  /// and its own connection, as `upgrade(_:to:)` does. On Apple platforms, it uses a `URLSessionWebSocketTask`.
  ///
  /// ```swift
  /// let socket = try await client.webSocket("wss://feed.example.com/prices")
  /// try await socket.send(json: Subscription(symbols: ["AAPL"]))
  /// while let price = try await socket.receive(as: Price.self) { show(price) }
  /// ```
  ///
  /// The WebSocket ends with ``WebSocket/close()``, with the server's close, and when it is released.
  /// `drain(timeout:)` closes it with 1001 (going away), and `cancelAll()` without a close frame.
  ///
  /// - Parameters:
  ///   - request: The request; `ws` and `wss` URLs are allowed. It must be a `GET` without a body.
  ///   - options: The settings of the WebSocket.
  ///   - requestOptions: Per-request options. `TimeoutPolicy.idle` limits the wait for the response.
  /// - Returns: The open WebSocket.
  /// - Throws: `HTTPError`: `HTTPError.Kind.invalidRequest` for an invalid option or field, before anything is sent;
  ///   `HTTPError.Kind.protocolViolation` for an invalid handshake of the server; `HTTPError.Kind.unsupported` if the
  ///   server accepts the request without opening a WebSocket, or if the transport does not support an option, before
  ///   anything is sent; `HTTPError.Kind.status` for a status that is not accepted. `CancellationError`.
  public nonisolated func webSocket(
    _ request: HTTPRequest, options: WebSocketOptions = WebSocketOptions(),
    requestOptions: RequestOptions = RequestOptions()
  ) async throws -> WebSocket {
    let opening = try WebSocketOpening(request, options)
    let response = try await upgrade(
      opening.request, to: "websocket", freshFields: WebSocketOpening.makeKey,
      options: opening.requestOptions(requestOptions))
    return try opening.webSocket(try response.connection, self)
  }

  /// Opens a WebSocket, and passes it to a closure.
  ///
  /// The closure runs in the caller's isolation. When it returns, the WebSocket is closed with 1000 (normal closure), and
  /// when it throws, with 1001 (going away). When the task is cancelled, the connection is closed at once, without a close
  /// frame.
  ///
  /// - Parameters:
  ///   - request: The request; `ws` and `wss` URLs are allowed. It must be a `GET` without a body.
  ///   - options: The settings of the WebSocket.
  ///   - requestOptions: Per-request options. `TimeoutPolicy.idle` limits the wait for the response.
  ///   - body: Uses the WebSocket.
  /// - Returns: The result of the closure.
  /// - Throws: The errors of ``webSocket(_:options:requestOptions:)``; an error thrown by the closure.
  public nonisolated func webSocket<R: Sendable>(
    _ request: HTTPRequest, options: WebSocketOptions = WebSocketOptions(),
    requestOptions: RequestOptions = RequestOptions(),
    _ body: nonisolated(nonsending) (WebSocket) async throws -> R
  ) async throws -> R {
    let socket = try await webSocket(request, options: options, requestOptions: requestOptions)
    return try await withTaskCancellationHandler {
      try await socket.use(body)
    } onCancel: {
      socket.session.connection.close()
    }
  }

  /// Starts a managed WebSocket, and passes it to a closure.
  ///
  /// It is not tied to the calling task: it ends with the closure, or when the handle, the client or a scope
  /// (`RequestScope.add(_:)`) cancels it.
  ///
  /// - Parameters:
  ///   - request: The request; `ws` and `wss` URLs are allowed. It must be a `GET` without a body.
  ///   - options: The settings of the WebSocket.
  ///   - requestOptions: Per-request options. `TimeoutPolicy.idle` limits the wait for the response.
  ///   - body: Uses the WebSocket.
  /// - Returns: A handle to await, observe or cancel it.
  /// - Throws: `HTTPError` of kind `HTTPError.Kind.invalidRequest` for an invalid option or field.
  @discardableResult
  public nonisolated func startWebSocket<R: Sendable>(
    _ request: HTTPRequest, options: WebSocketOptions = WebSocketOptions(),
    requestOptions: RequestOptions = RequestOptions(), _ body: @escaping @Sendable (WebSocket) async throws -> R
  ) throws -> RequestHandle<R> {
    let opening = try WebSocketOpening(request, options)
    return startUpgrade(
      opening.request, to: "websocket", freshFields: WebSocketOpening.makeKey,
      options: opening.requestOptions(requestOptions)
    ) { connection in
      try await opening.webSocket(connection, self).use(body)
    }
  }
}

extension WebSocket {
  /// Runs a closure, and closes the WebSocket after it.
  fileprivate func use<R>(_ body: nonisolated(nonsending) (WebSocket) async throws -> R) async throws -> R {
    do {
      let result = try await body(self)
      await close()
      return result
    } catch {
      await session.leave()
      throw error
    }
  }
}

/// The opening handshake of one WebSocket.
private struct WebSocketOpening: Sendable {
  let request: HTTPRequest
  private let options: WebSocketOptions
  private let handshake: WebSocketHandshake

  private static let key = "Sec-WebSocket-Key"

  /// A new key for each connection (RFC 6455 §4.1).
  static let makeKey: @Sendable () -> HTTPHeaders = { [key: WebSocketHandshake.makeKey()] }

  /// The fields that the handshake sets, and the options for them.
  private static let ownFields = [
    ("Sec-WebSocket-Key", "it is random"), ("Sec-WebSocket-Version", "it is always 13"),
    ("Sec-WebSocket-Protocol", "use the option 'subprotocols'"),
    ("Sec-WebSocket-Extensions", "use the option 'compression'"),
    ("Sec-WebSocket-Accept", "it belongs to the response"),
  ]

  init(_ request: HTTPRequest, _ options: WebSocketOptions) throws {
    func invalid(_ message: String) -> HTTPError { HTTPError(.invalidRequest, message) }
    if let problem = options.problem { throw invalid(problem) }
    guard request.method == .get else { throw invalid("a WebSocket request must be a GET, not a \(request.method)") }
    for (name, remedy) in Self.ownFields where request.headers.contains(name) {
      throw invalid("the header '\(name)' is set by the client itself: \(remedy)")
    }
    do {
      handshake = try WebSocketHandshake(subprotocols: options.subprotocols, deflate: options.compression.offer)
    } catch {
      throw invalid(error.message)
    }
    var request = request
    request.target = request.target.withHTTPScheme
    // The transport adds the first two, and each attempt has its own key.
    for field in handshake.fields where !["Upgrade", "Connection", Self.key].contains(field.name) {
      request.headers[field.name] = field.value
    }
    if let origin = options.origin { request.headers["Origin"] = origin }
    (self.request, self.options) = (request, options)
  }

  /// The request's options, with the messages for transports without bytes.
  func requestOptions(_ requestOptions: RequestOptions) -> RequestOptions {
    var requestOptions = requestOptions
    requestOptions[MessageUpgrade.self] = options.messages
    return requestOptions
  }

  /// Checks the response, and starts the WebSocket.
  func webSocket(_ connection: UpgradedConnection, _ client: HTTPClient) throws -> WebSocket {
    let response = connection.response
    do {
      let fields = response.headers.map { (name: $0.name, value: $0.value) }
      let key = response.request.headers[Self.key] ?? ""
      let agreement = try handshake.check(status: response.status.rawValue, fields, key: key)
      let session = WebSocketSession(connection, client, options, agreement)
      // Before it is attached, because the client may be drained at any time.
      session.work.begin(session)
      do {
        try client.attach(session.work)
      } catch {
        session.work.end()
        throw error
      }
      session.start()
      return WebSocket(session, agreement)
    } catch let problem as HandshakeProblem {
      let error = HTTPError(.protocolViolation, problem.message, phase: .receiving)
      connection.close(throwing: error)
      throw error
    } catch {
      connection.close()
      throw error
    }
  }
}
