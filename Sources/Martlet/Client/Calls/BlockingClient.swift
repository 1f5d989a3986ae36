import CMartletShim
import Dispatch
import MartletBase

#if os(Linux)
  import CurlEngine
#endif

extension HTTPClient {
  /// A client that blocks the calling thread until the response has arrived.
  ///
  /// Obtained from ``HTTPClient/blocking``. Use it on threads that the program created, such as those on which a C
  /// library calls back. Asynchronous code, including the top level of a script, awaits ``HTTPClient`` instead.
  ///
  /// It throws ``HTTPError/Kind/unsupported`` on the main thread, which would block everything else; in tasks, which
  /// share a few threads; and on the thread of the Linux engine, which all requests need.
  public struct BlockingClient: Sendable {
    private let client: HTTPClient

    init(_ client: HTTPClient) { self.client = client }

    /// Sends a request and waits for the response.
    ///
    /// The thread cannot be interrupted, but the limits of ``RequestOptions/timeout`` and ``HTTPClient/cancelAll()``
    /// end the request, and with it the wait.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - options: Per-request options.
    /// - Returns: An accepted response, with its body.
    /// - Throws: ``HTTPError``, of kind ``HTTPError/Kind/unsupported`` on a thread that must not block;
    ///   `CancellationError` after ``HTTPClient/cancelAll()``; or an error thrown by middleware.
    public func send(_ request: HTTPRequest, options: RequestOptions = RequestOptions()) throws -> HTTPResponse {
      try wait { [client] in try await client.send(request, options: options) }
    }

    /// Sends an endpoint's request and waits for its output.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint.
    ///   - options: Per-request options.
    /// - Returns: The output of the endpoint.
    /// - Throws: The errors of `send(_:options:)` for a request, or an error thrown by the endpoint.
    public func send<E: Endpoint>(_ endpoint: E, options: RequestOptions = RequestOptions()) throws -> E.Output {
      try wait { [client] in try await client.send(endpoint, options: options) }
    }

    private func wait<Output: Sendable>(_ work: @escaping @Sendable () async throws -> Output) throws -> Output {
      let isInTask = withUnsafeCurrentTask { $0 != nil }
      let isMainThread = martlet_is_main_thread()
      if let problem = Self.problem(isMainThread: isMainThread, isInTask: isInTask, isInEngine: Self.isInEngine) {
        throw HTTPError(.unsupported, problem)
      }
      let result = Promise<Output>()
      let end = DispatchGroup()
      end.enter()
      Task {
        do { result.resolve(.success(try await work())) } catch { result.resolve(.failure(error)) }
        end.leave()
      }
      end.wait()
      guard let outcome = result.current else { throw CancellationError() }
      return try outcome.get()
    }

    /// Why this thread must not block, or `nil` if it may.
    static func problem(isMainThread: Bool, isInTask: Bool, isInEngine: Bool) -> String? {
      if isInEngine { return "HTTPClient.blocking would block the engine's thread: call it on your own thread" }
      if isInTask { return "HTTPClient.blocking would block a thread that all tasks share: use await" }
      return isMainThread ? "HTTPClient.blocking would block the main thread: use await, or start(_:)" : nil
    }

    private static var isInEngine: Bool {
      #if os(Linux)
        CurlLibrary.isInside
      #else
        false
      #endif
    }
  }
}

extension HTTPClient {
  /// A blocking version of this client.
  public nonisolated var blocking: BlockingClient { BlockingClient(self) }
}
