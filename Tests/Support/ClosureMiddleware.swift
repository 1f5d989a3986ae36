package import Martlet

/// Middleware that runs a closure.
package struct ClosureMiddleware: Middleware {
  package typealias Work =
    @Sendable (HTTPRequest, RequestContext, MiddlewareNext) async throws -> StreamedResponse

  private let work: Work

  package init(_ work: @escaping Work) { self.work = work }

  package func intercept(
    _ request: HTTPRequest, context: RequestContext, next: MiddlewareNext
  ) async throws -> StreamedResponse { try await work(request, context, next) }
}

extension Middleware where Self == ClosureMiddleware {
  /// Runs a closure.
  package static func closure(_ work: @escaping ClosureMiddleware.Work) -> Self { Self(work) }

  /// Passes each request on unchanged.
  package static var passingOn: Self { Self { request, _, next in try await next(request) } }

  /// Changes each request.
  package static func changing(_ change: @escaping @Sendable (inout HTTPRequest) async throws -> Void) -> Self {
    Self { request, _, next in
      var request = request
      try await change(&request)
      return try await next(request)
    }
  }
}
