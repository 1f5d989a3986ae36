/// Intercepts requests and responses, and may change both.
///
/// Middleware in `Configuration.middleware` runs once per call, above redirects and retries; in
/// `Configuration.exchangeMiddleware` it runs once per exchange, below them.
public protocol Middleware: Sendable {
  /// Handles one request.
  ///
  /// - Parameters:
  ///   - request: The request; its target is an absolute URL.
  ///   - context: The context of the call.
  ///   - next: Passes a request to the next step.
  /// - Returns: The response.
  /// - Throws: Any error; an awaited call throws it unchanged.
  func intercept(
    _ request: HTTPRequest, context: RequestContext,
    next: MiddlewareNext
  ) async throws -> StreamedResponse
}

/// Middleware that waits for `next` only, so it ends with its request.
///
/// No task is necessary to end the wait for it.
protocol AbortAwareMiddleware: Middleware {}

/// The next step after a middleware: `try await next(request)` passes the request on.
public struct MiddlewareNext: Sendable {
  let stages: Next
  let context: RequestContext

  /// Passes a request on.
  ///
  /// Middleware may call it any number of times, including zero. Cancelling the task that awaits it ends its exchange
  /// at once, and no other exchange. The end of the request ends all exchanges, even those that tasks of the middleware
  /// still await.
  ///
  /// - Parameter request: The request, which is checked again before it is passed on.
  /// - Returns: The response: its head, and a body that has not been read yet.
  /// - Throws: ``HTTPError``; of kind ``HTTPError/Kind/unsupported`` after the end of the request; or an error thrown
  ///   by later middleware.
  public func callAsFunction(_ request: HTTPRequest) async throws -> StreamedResponse {
    // Neither a limit nor a cancellation would end another exchange.
    if context.call.stage.isEnded { throw context.call.failure ?? Self.late }
    let hop = try RequestGate.replaced(request, settings: context.call.settings)
    var context = context
    let branch = context.fork()
    return try await withTaskCancellationHandler {
      try await stages(hop, context)
    } onCancel: {
      branch.cancel()
    }
  }

  /// The error of exchanges that would outlive their request.
  static let late = HTTPError(.unsupported, "the request has ended; await next() before intercept() returns")
}

/// A stage of the pipeline.
protocol Stage: Sendable {
  func run(_ hop: Hop, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse
}

/// The stages below a stage.
struct Next: Sendable {
  let stages: [any Stage]
  var index = 0

  func callAsFunction(_ hop: Hop, _ context: RequestContext) async throws -> StreamedResponse {
    try await stages[index].run(hop, context, Next(stages: stages, index: index + 1))
  }
}

/// A user's middleware as a stage.
struct MiddlewareStage: Stage {
  let middleware: any Middleware

  func run(_ hop: Hop, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    try await middleware.intercept(hop.request, context: context, next: MiddlewareNext(stages: next, context: context))
  }
}
