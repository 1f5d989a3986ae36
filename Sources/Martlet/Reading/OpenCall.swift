import Foundation
import MartletBase

/// A call whose body is read at the reader's own pace, outside of any closure: it ends with its body, with an error, or
/// with this object, which then cancels it.
final class OpenCall: Sendable {
  let response: StreamedResponse
  private let call: Call

  fileprivate init(_ call: Call, _ response: StreamedResponse) {
    self.call = call
    self.response = response
  }

  deinit { call.abort(CancellationError()) }

  /// The response with a body that keeps the call alive.
  var living: StreamedResponse {
    var living = response
    let reader = Locked(Optional(response.body.makeAsyncIterator()))
    living.body = ResponseBody { [self] in
      // One at a time: a second reader would take pieces from the first.
      guard var body = reader.withLock({ $0.take() }) else { return nil }
      let piece = try await next(&body)
      if piece != nil { reader.withLock { $0 = body } }
      return piece
    }
    return living
  }

  /// How long it has been going on.
  var elapsed: Duration { call.elapsed }

  /// Reads the next piece of the body; at its end the call has succeeded.
  ///
  /// - Parameter body: The reader of the response's body.
  /// - Returns: The piece, or `nil` at the end.
  /// - Throws: What ended the call.
  func next(_ body: inout ResponseBody.AsyncIterator) async throws -> Data? {
    try await withTaskCancellationHandler {
      do {
        if let piece = try await body.next() { return piece }
      } catch {
        throw await fail(error)
      }
      try await succeed()
      return nil
    } onCancel: {
      call.abort(CancellationError())
    }
  }

  /// Ends it with its response.
  func succeed() async throws {
    await call.tellLast(succeeded: true)
    guard call.finish(.succeeded(response.status), response: nil) else { throw call.failure ?? CancellationError() }
  }

  /// Ends it with an error.
  ///
  /// - Returns: What to throw: the error with what the call knows of it, or what has ended the call before.
  func fail(_ error: any Error) async -> any Error { await call.failed(with: error) }
}

extension ClientCore {
  /// Sends a request whose body somebody reads who may go away at any time.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - options: Its options.
  ///   - pause: How long to wait before; the call is there already, and can be cancelled.
  /// - Returns: The response, if its status is accepted.
  /// - Throws: What ended the call.
  @concurrent func open(_ request: HTTPRequest, options: RequestOptions, after pause: Duration) async throws -> OpenCall
  {
    try Task.checkCancellation()
    let call = try begin(request, options: options, isManaged: false)
    return try await withTaskCancellationHandler {
      do {
        if pause > .zero { try await call.pause(for: pause) }
        var response = try await Pipeline.run(call, .stream)
        response.decoder = call.settings.configuration.decoder
        if call.options.accepts.accepts(response.status) != true { _ = try await accepted(response, call) }
        return OpenCall(call, response)
      } catch {
        throw await call.failed(with: error)
      }
    } onCancel: {
      call.abort(CancellationError())
    }
  }
}
