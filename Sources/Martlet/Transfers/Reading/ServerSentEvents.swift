/// A stream of server-sent events (WHATWG HTML §9.2).
///
/// The request is sent when the first event is requested, and each iteration has its own connection. Events are read
/// only as fast as they are requested. Leaving the loop, dropping the iterator or cancelling the task closes the
/// connection.
///
/// Created by ``HTTPClient/serverSentEvents(_:options:)-(HTTPRequest,_)``.
public struct ServerSentEvents: AsyncSequence, Sendable {
  public typealias Element = ServerSentEvents.Event
  public typealias Failure = any Error

  let core: ClientCore
  let request: HTTPRequest
  let options: ServerSentEvents.Options

  /// Iterates over events.
  public struct AsyncIterator: AsyncIteratorProtocol {
    /// `nil` after the end or an error.
    fileprivate var session: EventSession?

    /// The next event, or `nil` at the end and after an error.
    ///
    /// - Throws: ``HTTPError``, `CancellationError`, or an error thrown by middleware.
    public mutating func next() async throws -> ServerSentEvents.Event? {
      let current = session.take()
      guard let event = try await current?.next() else { return nil }
      session = current
      return event
    }
  }

  /// Creates an iterator with its own connection.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(session: EventSession(core, request, options))
  }
}
