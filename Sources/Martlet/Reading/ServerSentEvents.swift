/// A stream of server-sent events (WHATWG HTML §9.2).
///
/// Nothing is sent before the first event is asked for, and each iteration has a connection of its own. Events are read
/// no faster than they are asked for. Leaving the loop, dropping the iterator or cancelling the task closes the
/// connection.
///
/// Made by ``HTTPClient/serverSentEvents(_:options:)``.
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
    /// Until the end, or an error.
    private var session: EventSession?

    fileprivate init(_ session: EventSession) { self.session = session }

    /// The next event, or `nil` at the end and after an error.
    ///
    /// - Throws: ``HTTPError``, `CancellationError`, or what middleware throws.
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

  /// Starts reading, with a connection of its own.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(EventSession(core, request, settings, options))
  }
}
