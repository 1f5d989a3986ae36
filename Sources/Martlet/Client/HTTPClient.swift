/// A client that sends HTTP requests with its own policies.
///
/// Create a client once and keep it: it owns a connection pool, a configuration, and the registry of running requests.
/// The actor isolates no state: it keeps the changes of ``update(_:)`` in order. Sending does not go through it, so many
/// requests can start at the same time. A client needs no shutdown; ``drain(timeout:)`` is for programs that are about to
/// exit.
///
/// ```swift
/// let client = HTTPClient { $0.baseURL = "https://api.example.com/v1" }
/// let user = try await client.get("/users/\(id)", as: User.self)
/// ```
public actor HTTPClient {
  /// A client for programs that need only one: `try await HTTPClient.shared.get("https://…")`.
  ///
  /// Its configuration is `Configuration.default` at the time of its first use.
  public static let shared = HTTPClient()

  package nonisolated let core: ClientCore

  /// The activity of the client.
  public nonisolated let activity: ActivityMonitor

  /// Creates a client.
  ///
  /// - Parameters:
  ///   - isolation: The caller's actor, on which the closure runs.
  ///   - configure: Changes the default configuration, before this initializer returns.
  public init(
    isolation: isolated (any Actor)? = #isolation, _ configure: (inout Configuration) -> Void = { _ in }
  ) {
    var configuration = Configuration.default
    // The transport of the global default is only a description; each client has its own sessions.
    configure(&configuration)
    // Coders are objects: a client must not share those of an assigned configuration.
    self.init(ClientCore(ClientSettings(configuration.unshared)))
  }

  private init(_ core: ClientCore) {
    self.core = core
    activity = ActivityMonitor(core)
  }

  /// Changes the configuration of later requests.
  ///
  /// - Parameter change: Changes the current configuration.
  public func update(_ change: @Sendable (inout Configuration) -> Void) { core.update(change) }

  /// The current configuration.
  public nonisolated var configuration: Configuration { core.settings.configuration }

  /// The cache of the client.
  public nonisolated var cache: ResponseCache { core.settings.cache }

  /// A client with its own configuration that shares connections, cookies, cache and retry budget.
  ///
  /// It also has its own requests: `cancelAll()` of one client does not affect the other. If its ``Configuration/tls``
  /// or its route to servers differs, it opens its own connections and uses no data received over the others: see
  /// <doc:Connections>.
  ///
  /// - Parameter change: Changes a copy of this client's configuration.
  /// - Returns: The new client.
  public nonisolated func derived(_ change: (inout Configuration) -> Void) -> HTTPClient {
    let settings = core.settings
    var configuration = settings.configuration.unshared
    change(&configuration)
    return HTTPClient(ClientCore(ClientSettings(configuration.unshared, reusing: settings), derivedFrom: core))
  }

  // MARK: Sending

  /// Sends a request and returns the whole response.
  ///
  /// The request belongs to the calling task: cancelling the task cancels the transfer at once.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - options: Per-request options.
  /// - Returns: An accepted response (``RequestOptions/accepts``).
  /// - Throws: ``HTTPError``, `CancellationError`, or an error thrown by middleware.
  @discardableResult @inline(__always)
  public nonisolated func send(
    _ request: HTTPRequest, options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    try Task.checkCancellation()
    return try await core.send(request, options: options) { response, _ in response }
  }

  /// Starts a managed request, which is not tied to the calling task.
  ///
  /// It runs until it succeeds, fails or is cancelled; releasing the handle or the client does not end it. If the
  /// request is invalid, the handle throws the error.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - options: Per-request options.
  /// - Returns: A handle to await, observe or cancel the request.
  @discardableResult
  public nonisolated func start(
    _ request: HTTPRequest, options: RequestOptions = RequestOptions()
  ) -> RequestHandle<HTTPResponse> {
    core.start(request, options: options, decode: { $0 })
  }

  /// Sends a request and passes the streamed response to a closure.
  ///
  /// The closure runs in the caller's isolation, so it can change the caller's variables. The request ends with the
  /// closure; the unread rest of the body is not transferred. A status that is not accepted
  /// throws before the closure is called. There is no total limit unless the request or the client has set one.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - options: Per-request options.
  ///   - body: Reads the response.
  /// - Returns: The result of the closure.
  /// - Throws: ``HTTPError``, `CancellationError`, or an error thrown by the closure.
  public nonisolated func stream<R: Sendable>(
    _ request: HTTPRequest, options: RequestOptions = RequestOptions(),
    _ body: nonisolated(nonsending) (StreamedResponse) async throws -> R
  ) async throws -> R {
    try Task.checkCancellation()
    return try await core.stream(request, options: core.unbounded(options)) { response, _ in try await body(response) }
  }

  /// Sends a request and returns the response while its body is still arriving.
  ///
  /// ```swift
  /// let response = try await client.stream("/export")
  /// for try await piece in response.body { try file.write(contentsOf: piece) }
  /// ```
  ///
  /// The request ends when its body has been read to the end or has failed. It is cancelled, and its connection closed,
  /// when the last copy of the response, its body and their iterators is released; until then it occupies a connection.
  /// The body can be read on any actor, stored, or passed on, for example as the body of another request
  /// (`HTTPBody.stream(_:length:contentType:)`). Cancelling the task that reads the body cancels the request.
  ///
  /// A status that is not accepted throws. There is no total limit unless the request or the client has set one.
  ///
  /// - Parameters:
  ///   - request: The request; a literal is a `GET`.
  ///   - options: Per-request options.
  /// - Returns: The response.
  /// - Throws: ``HTTPError``, `CancellationError`, or an error thrown by middleware. Reading the body throws the same
  ///   errors.
  public nonisolated func stream(
    _ request: HTTPRequest, options: RequestOptions = RequestOptions()
  ) async throws -> StreamedResponse {
    try Task.checkCancellation()
    return try await core.open(request, options: core.unbounded(options), after: .zero).living()
  }

  // MARK: In flight

  /// Cancels all requests, awaited, managed and scoped, and ``preconnect(to:count:)``.
  ///
  /// Afterwards, attached work ends its waits (``ClientWork/cancelWaits()``).
  ///
  /// - Returns: The number of cancelled requests.
  @discardableResult
  public nonisolated func cancelAll() -> Int {
    let count = core.cancel()
    for work in core.work { work.cancelWaits() }
    return count
  }

  /// Cancels the requests for which a closure returns `true`.
  ///
  /// - Parameter matches: Receives each running request.
  /// - Returns: The number of cancelled requests.
  @discardableResult
  public nonisolated func cancelAll(where matches: (ActivityMonitor.RequestInfo) -> Bool) -> Int {
    core.cancel { matches(ActivityMonitor.RequestInfo($0)) }
  }

  /// Cancels the requests of one endpoint type.
  ///
  /// - Parameter type: The endpoint type; requests of other types, even related ones, continue.
  /// - Returns: The number of cancelled requests.
  @discardableResult
  public nonisolated func cancelAll<E: Endpoint>(of type: E.Type) -> Int {
    core.cancel { $0.endpoint == type }
  }

  /// Waits for running requests and attached ``ClientWork``, and refuses new requests, before the program exits.
  ///
  /// - Parameter timeout: The maximum time to wait, after which running requests are cancelled; at once if the task is
  ///   cancelled. `nil` sets no such limit; each request still has its own.
  public func drain(timeout: Duration? = nil) async {
    await core.drain(timeout)
  }
}
