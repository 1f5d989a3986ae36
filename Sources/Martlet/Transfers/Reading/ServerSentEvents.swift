/// A stream of server-sent events (WHATWG HTML §9.2).
///
/// The request is sent when the first event is requested, and each iteration has its own connection. Events are read
/// only as fast as they are requested. Leaving the loop, dropping the iterator or cancelling the task closes the
/// connection.
///
/// Created by ``HTTPClient/serverSentEvents(_:options:)``.
public struct ServerSentEvents: AsyncSequence, Sendable {
  public typealias Element = ServerSentEvents.Event
  public typealias Failure = any Error

  private let core: ClientCore
  private let request: HTTPRequest
  private let settings: ServerSentEvents.Options
  private let options: RequestOptions

  init(_ core: ClientCore, _ request: HTTPRequest, _ settings: ServerSentEvents.Options, _ options: RequestOptions) {
    self.core = core
    self.request = request
    self.settings = settings
    self.options = options
  }

  /// Iterates over events.
  public struct AsyncIterator: AsyncIteratorProtocol {
    /// `nil` after the end or an error.
    private var session: EventSession?

    fileprivate init(_ session: EventSession) { self.session = session }

    /// The next event, or `nil` at the end and after an error.
    ///
    /// - Throws: ``HTTPError``, `CancellationError`, or an error thrown by middleware.
    public mutating func next() async throws -> ServerSentEvents.Event? {
      do {
        if let event = try await session?.next() { return event }
      } catch {
        session = nil
        throw error
      }
      session = nil
      return nil
    }
  }

  /// Creates an iterator with its own connection.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(EventSession(core, request, settings, options))
  }
}
