import MartletBase

/// The response to a request for another protocol (RFC 9110 §7.8).
@frozen public enum UpgradeResponse: Sendable {
  /// The server has changed the protocol.
  case upgraded(UpgradedConnection)
  /// The server has responded in HTTP; the body is still arriving.
  case response(StreamedResponse)

  /// The upgraded connection.
  ///
  /// Throws ``HTTPError`` of kind ``HTTPError/Kind/unsupported`` if the server has responded in HTTP.
  public var connection: UpgradedConnection {
    get throws {
      switch self {
      case .upgraded(let connection): return connection
      case .response(let response):
        throw HTTPError(
          .unsupported,
          "the server did not change the protocol: its response has the status \(response.status.rawValue)",
          phase: .receiving
        ).described(response.request)
      }
    }
  }
}

extension HTTPClient {
  /// Requests another protocol on its own connection.
  ///
  /// The request passes all stages of the client, such as redirects, cookies, credentials and guards, apart from the
  /// cache and hedging. It is sent over HTTP/1.1, with `Connection: Upgrade` and `Upgrade`; through an HTTP proxy, it
  /// uses a tunnel. With status 101, the connection transports the other protocol's bytes. A status that is not
  /// accepted throws, as for other requests.
  ///
  /// ``TimeoutPolicy/idle`` limits the wait for the response, and a wait for room to write. ``TimeoutPolicy/total`` applies
  /// only if the request or the client sets it.
  ///
  /// Requires the Linux engine, or a transport that supports upgrades.
  ///
  /// - Parameters:
  ///   - request: The request. A body must be in memory; it is sent before the other protocol.
  ///   - protocolName: The protocol, with or without a version: `websocket`, `SPDY/3.1`.
  ///   - idleLimit: The maximum time without bytes in either direction on the upgraded connection; `nil` for none.
  ///   - freshFields: Returns header fields that are different for each attempt, such as a random key.
  ///   - options: Per-request options.
  /// - Returns: The upgraded connection, or the response in HTTP.
  /// - Throws: ``HTTPError``: ``HTTPError/Kind/invalidRequest`` for a malformed protocol name or a body that is not in memory,
  ///   before anything is sent; ``HTTPError/Kind/protocolViolation`` if the server changes to another protocol;
  ///   ``HTTPError/Kind/unsupported`` without the engine. `CancellationError`, or an error thrown by middleware.
  public nonisolated func upgrade(
    _ request: HTTPRequest, to protocolName: String, idleLimit: Duration? = nil,
    freshFields: (@Sendable () -> HTTPHeaders)? = nil, options: RequestOptions = RequestOptions()
  ) async throws -> UpgradeResponse {
    try Task.checkCancellation()
    let opening = UpgradeOpening(
      UpgradeOption(protocolName: protocolName, idleLimit: idleLimit, freshFields: freshFields))
    let call = try await core.open(request, options: opening.options(core.unbounded(options)), after: .zero)
    do {
      guard let writer = try opening.writer(of: call.response) else { return .response(try await call.living()) }
      return .upgraded(UpgradedConnection(try await call.living(), writer, call.call, owner: call))
    } catch {
      throw await call.fail(error)
    }
  }

  /// Requests another protocol, and passes the upgraded connection to a closure.
  ///
  /// The closure runs in the caller's isolation. The connection is closed when it returns or throws.
  ///
  /// - Parameters:
  ///   - request: The request. A body must be in memory; it is sent before the other protocol.
  ///   - protocolName: The protocol, with or without a version: `websocket`, `SPDY/3.1`.
  ///   - idleLimit: The maximum time without bytes in either direction on the upgraded connection; `nil` for none.
  ///   - freshFields: Returns header fields that are different for each attempt, such as a random key.
  ///   - options: Per-request options.
  ///   - body: Uses the connection.
  /// - Returns: The result of the closure.
  /// - Throws: ``HTTPError``, as ``upgrade(_:to:idleLimit:freshFields:options:)`` and ``UpgradeResponse/connection`` do;
  ///   `CancellationError`; an error thrown by the closure.
  public nonisolated func upgrade<R: Sendable>(
    _ request: HTTPRequest, to protocolName: String, idleLimit: Duration? = nil,
    freshFields: (@Sendable () -> HTTPHeaders)? = nil, options: RequestOptions = RequestOptions(),
    _ body: nonisolated(nonsending) (UpgradedConnection) async throws -> R
  ) async throws -> R {
    let opening = UpgradeOpening(
      UpgradeOption(protocolName: protocolName, idleLimit: idleLimit, freshFields: freshFields))
    return try await core.stream(request, options: opening.options(core.unbounded(options))) { response, call in
      try await body(opening.connection(of: response, call))
    }
  }

  /// Starts a managed request for another protocol, and passes the upgraded connection to a closure.
  ///
  /// It is not tied to the calling task: it runs until the closure has returned or thrown, or the handle, the client or
  /// a scope (``RequestScope/add(_:)``) cancels it.
  ///
  /// - Parameters:
  ///   - request: The request. A body must be in memory; it is sent before the other protocol.
  ///   - protocolName: The protocol, with or without a version: `websocket`, `SPDY/3.1`.
  ///   - idleLimit: The maximum time without bytes in either direction on the upgraded connection; `nil` for none.
  ///   - freshFields: Returns header fields that are different for each attempt, such as a random key.
  ///   - options: Per-request options.
  ///   - body: Uses the connection.
  /// - Returns: A handle to await, observe or cancel the request.
  @discardableResult
  public nonisolated func startUpgrade<R: Sendable>(
    _ request: HTTPRequest, to protocolName: String, idleLimit: Duration? = nil,
    freshFields: (@Sendable () -> HTTPHeaders)? = nil, options: RequestOptions = RequestOptions(),
    _ body: @escaping @Sendable (UpgradedConnection) async throws -> R
  ) -> RequestHandle<R> {
    let opening = UpgradeOpening(
      UpgradeOption(protocolName: protocolName, idleLimit: idleLimit, freshFields: freshFields))
    return core.start(request, options: opening.options(core.unbounded(options))) { [core] call in
      try await core.ending(call) {
        let response = try await core.opened(call)
        let connection = try opening.connection(of: response, call)
        defer { connection.close() }
        let result = try await body(connection)
        return (result, nil, response.status, response.source)
      }
    }
  }
}

/// A request for another protocol.
private struct UpgradeOpening: Sendable {
  private let option: UpgradeOption

  init(_ option: UpgradeOption) { self.option = option }

  /// The options of the request; stored and repeated responses cannot change a protocol.
  func options(_ options: RequestOptions) -> RequestOptions {
    var options = options
    options[UpgradeOption.self] = option
    (options.cache, options.coalesces, options.hedging, options.decompression) = (.off, false, .off, .off)
    return options
  }

  /// The sending side of the connection; `nil` if the response is in HTTP.
  func writer(of response: StreamedResponse) throws -> (any UpgradeWriter)? {
    guard let writer = response.upgradeWriter else { return nil }
    let names = response.headers.values(of: "Upgrade").flatMap { FieldSyntax.listMembers(of: $0) }
    guard names.contains(where: { FieldSyntax.isSameName($0, option.protocolName) }) else {
      let shown = InvalidInput.printable(names.joined(separator: ", "), limit: 100)
      throw HTTPError(
        .protocolViolation, "the server changed to the protocol '\(shown)' instead of '\(option.protocolName)'",
        phase: .receiving)
    }
    return writer
  }

  func connection(of response: StreamedResponse, _ call: Call) throws -> UpgradedConnection {
    guard let writer = try writer(of: response) else { return try UpgradeResponse.response(response).connection }
    return UpgradedConnection(response, writer, call, owner: nil)
  }
}
