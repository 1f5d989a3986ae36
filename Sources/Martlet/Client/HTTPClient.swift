/// An HTTP client.
///
/// A client is made once and kept: it owns a pool of connections, a configuration, and the registry of what is running.
/// Sending does not pass through the actor, so many requests start at the same time. A client needs no shutdown;
/// ``drain(timeout:)`` is there for programs that end.
///
/// ```swift
/// let client = HTTPClient { $0.baseURL = "https://api.example.com/v1" }
/// let user = try await client.get("/users/\(id)", as: User.self)
/// ```
public actor HTTPClient {
  /// A client for programs that need only one: `try await HTTPClient.shared.get("https://…")`.
  ///
  /// It takes its configuration from `Configuration.default` when it is first used.
  public static let shared = HTTPClient()

  package nonisolated let core: ClientCore

  /// The activity of the client.
  public nonisolated let activity: ActivityMonitor

  /// Creates a client.
  ///
  /// - Parameter configure: Changes the default configuration.
  public init(_ configure: @Sendable (inout Configuration) -> Void = { _ in }) {
    var configuration = Configuration.default
    // The global default's transport is a description; each client has its own sessions.
    configure(&configuration)
    // Coders are objects: those of a configuration that was assigned are not this client's.
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
  /// Its requests are its own too: `cancelAll()` of one client leaves those of the other alone. With another
  /// ``Configuration/tls``, or another way to servers, it opens connections of its own and is not served what came over
  /// the others: see <doc:Connections>.
  ///
  /// - Parameter change: Changes a copy of this client's configuration.
  /// - Returns: The new client.
  public nonisolated func derived(_ change: @Sendable (inout Configuration) -> Void) -> HTTPClient {
    let settings = core.settings
    var configuration = settings.configuration.unshared
    change(&configuration)
    return HTTPClient(ClientCore(ClientSettings(configuration.unshared, reusing: settings), budget: core.budget))
  }

  // MARK: Sending

  /// Sends a request and returns the whole response.
  ///
  /// The caller's task owns it: cancelling the task cancels the transfer at once.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - options: What is different for this one.
  /// - Returns: A response that is accepted (``RequestOptions/accepts``).
  /// - Throws: ``HTTPError``, `CancellationError`, or what middleware throws.
  @discardableResult
  public nonisolated func send(
    _ request: HTTPRequest, options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    try Task.checkCancellation()
    return try await core.send(request, options: options) { response, _ in response }
  }

  /// Starts a managed request, which is not tied to the calling task.
  ///
  /// It lives until it succeeds, fails or is cancelled; neither dropping the handle nor dropping the client ends it.
  /// Whatever is wrong with the request is the handle's error.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - options: What is different for this one.
  /// - Returns: A handle to wait for it, watch it or cancel it.
  @discardableResult
  public nonisolated func start(
    _ request: HTTPRequest, options: RequestOptions = RequestOptions()
  ) -> RequestHandle<HTTPResponse> {
    core.start(request, options: options, decode: { $0 })
  }

  /// Sends a request and passes the streamed response to a closure.
  ///
  /// The request ends with the closure: what was not read is not transferred. A status that is not accepted throws
  /// before the closure is entered. There is no total limit unless the request or
  /// the client has set one.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - options: What is different for this one.
  ///   - body: Reads the response.
  /// - Returns: What the closure returns.
  /// - Throws: ``HTTPError``, `CancellationError`, or what the closure throws.
  public nonisolated func stream<R: Sendable>(
    _ request: HTTPRequest, options: RequestOptions = RequestOptions(),
    _ body: @Sendable (StreamedResponse) async throws -> R
  ) async throws -> R {
    try Task.checkCancellation()
    return try await core.stream(request, options: core.unbounded(options), body)
  }

  /// Sends a request and returns the response while its body still arrives.
  ///
  /// ```swift
  /// let response = try await client.stream("/export")
  /// for try await piece in response.body { try file.write(contentsOf: piece) }
  /// ```
  ///
  /// The request lives as long as its body: until that was read to its end, failed, or is dropped with the last copy of
  /// the response, of its body and of their iterators, which cancels the request and closes its connection. Until then it
  /// holds one. It may be read on any actor, kept, or handed on, as in the body of another response
  /// (`HTTPBody.stream(_:length:contentType:)`); cancelling the task that reads it cancels it.
  ///
  /// A status that is not accepted throws. There is no total limit unless the request or the client has set one.
  ///
  /// - Parameters:
  ///   - request: The request; a literal is a `GET`.
  ///   - options: What is different for this one.
  /// - Returns: The response.
  /// - Throws: ``HTTPError``, `CancellationError`, or what middleware throws; so does reading the body.
  public nonisolated func stream(
    _ request: HTTPRequest, options: RequestOptions = RequestOptions()
  ) async throws -> StreamedResponse {
    try Task.checkCancellation()
    return try await core.open(request, options: core.unbounded(options), after: .zero).living()
  }

  // MARK: In flight

  /// Cancels all requests: awaited, managed and scoped.
  ///
  /// - Returns: How many requests it ended.
  @discardableResult
  public nonisolated func cancelAll() -> Int { core.cancel() }

  /// Cancels the requests for which a closure returns `true`.
  ///
  /// - Parameter matches: Gets each running request.
  /// - Returns: How many requests it ended.
  @discardableResult
  public nonisolated func cancelAll(where matches: (ActivityMonitor.RequestInfo) -> Bool) -> Int {
    core.cancel { matches(ActivityMonitor.RequestInfo($0)) }
  }

  /// Cancels the requests of one endpoint type.
  ///
  /// - Parameter type: The type; requests of other types, also of related ones, go on.
  /// - Returns: How many requests it ended.
  @discardableResult
  public nonisolated func cancelAll<E: Endpoint>(of type: E.Type) -> Int {
    core.cancel { $0.endpoint == type }
  }

  /// Waits for running requests and refuses new ones, before the program exits.
  ///
  /// - Parameter timeout: How long to wait; what runs then is cancelled. `nil` waits without a limit of its own (every
  ///   request still has its own).
  public func drain(timeout: Duration? = nil) async {
    await core.drain(timeout)
  }
}
