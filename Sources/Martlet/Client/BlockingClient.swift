import Dispatch
import Foundation

#if os(Linux)
  import CurlEngine
#endif

/// A client that blocks the calling thread until the response has arrived.
///
/// Got from ``HTTPClient/blocking``. It is for threads of a program's own, such as those that a C library calls back
/// on. What has `async` waits with ``HTTPClient`` itself, and a script has it at its top level.
///
/// It refuses (``HTTPError/Kind/unsupported``) the main thread, where everything else would wait too, and tasks, whose
/// threads are few and belong to all tasks. It refuses the thread of the engine of Linux, too, which all requests need.
public struct BlockingClient: Sendable {
  private let client: HTTPClient

  init(_ client: HTTPClient) { self.client = client }

  /// Sends a request and waits for the response.
  ///
  /// Nothing interrupts the thread, but the limits of ``RequestOptions/timeout`` and ``HTTPClient/cancelAll()`` end the
  /// request and so the wait.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - options: What is different for this one.
  /// - Returns: An accepted response, with its body.
  /// - Throws: ``HTTPError``, of kind ``HTTPError/Kind/unsupported`` on a thread that it refuses; `CancellationError`
  ///   after ``HTTPClient/cancelAll()``; or what middleware throws.
  public func send(_ request: HTTPRequest, options: RequestOptions = RequestOptions()) throws -> HTTPResponse {
    try wait { [client] in try await client.send(request, options: options) }
  }

  /// Sends an endpoint's request and waits for its output.
  ///
  /// - Parameters:
  ///   - endpoint: The endpoint.
  ///   - options: What is different for this one.
  /// - Returns: What the endpoint makes of the response.
  /// - Throws: As `send(_:options:)` of a request, or what the endpoint throws.
  public func send<E: Endpoint>(_ endpoint: E, options: RequestOptions = RequestOptions()) throws -> E.Output {
    try wait { [client] in try await client.send(endpoint, options: options) }
  }

  private func wait<Output: Sendable>(_ work: @escaping @Sendable () async throws -> Output) throws -> Output {
    let isInTask = withUnsafeCurrentTask { $0 != nil }
    if let problem = Self.problem(isMainThread: Thread.isMainThread, isInTask: isInTask, isInEngine: Self.isInEngine) {
      throw HTTPError(.unsupported, problem)
    }
    let result = SharedResult<Output>()
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

  /// Why nothing may wait here.
  static func problem(isMainThread: Bool, isInTask: Bool, isInEngine: Bool) -> String? {
    if isInEngine { return "HTTPClient.blocking would wait for its own thread: call it on a thread of your own" }
    if isInTask { return "HTTPClient.blocking would stop a thread that all tasks share: use await" }
    return isMainThread ? "HTTPClient.blocking would stop the main thread: use await, or start(_:)" : nil
  }

  private static var isInEngine: Bool {
    #if os(Linux)
      CurlLibrary.isInside
    #else
      false
    #endif
  }
}

extension HTTPClient {
  /// A blocking version of this client.
  public nonisolated var blocking: BlockingClient { BlockingClient(self) }
}
