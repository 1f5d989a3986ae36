/// Observes a client's requests, for logs, metrics, traces and recordings.
///
/// ```swift
/// final class Counter: Instrument {
///   let statuses = Mutex<[HTTPStatus: Int]>([:])
///
///   func observe(_ event: InstrumentEvent) {
///     guard case .head(let head, _) = event.kind else { return }
///     statuses.withLock { $0[head.status, default: 0] += 1 }
///   }
/// }
///
/// let counter = Counter()
/// let client = HTTPClient { $0.instruments = [counter] }
/// ```
///
/// An instrument observes; a ``Middleware`` changes. Events are values. They are delivered on a queue of the client,
/// one at a time and in order, up to 5 ms after they happen, and never while a lock is held, so a slow instrument
/// delays no request. Up to 10,000 events may wait for the instrument; further events are dropped, and the next event
/// reports their number in ``InstrumentEvent/droppedCount``. Clients with the same instruments, and a client whose
/// instruments were changed, may call an instrument at the same time for different calls. An instrument that sends
/// requests must use a client without that instrument.
///
/// With an instrument, all decisions are recorded, as with ``RequestOptions/explains``.
///
/// Implement a requirement that has a default with exactly its types and effects. The compiler accepts a `fields(for:)`
/// that throws or is `async`, but as a different method, which is never called.
public protocol Instrument: Sendable {
  /// Receives an event.
  ///
  /// - Parameter event: The event.
  func observe(_ event: InstrumentEvent)

  /// Returns header fields to add to an exchange, such as `traceparent`.
  ///
  /// The request's task calls this before it waits for a connection; the request waits for the result without a limit.
  /// Fields that the request already contains are kept. A field that is invalid, or that decides about the request,
  /// such as `Authorization`, `Cookie`, `Host` or `Range`, makes the request fail with
  /// ``HTTPError/Kind/invalidRequest``.
  ///
  /// - Parameter exchange: The exchange.
  /// - Returns: The fields; none by default.
  func fields(for exchange: InstrumentEvent.Exchange) -> HTTPHeaders

  /// The number of bytes at the beginning of each body and message that events contain.
  ///
  /// ``InstrumentEvent/Summary`` contains bodies, and ``InstrumentEvent/Message`` the messages of upgraded connections.
  /// The default is 0. The value is read once, when the client is created or changed. Each exchange in progress keeps
  /// up to twice this number in memory, and so does each event that waits for delivery.
  var maximumBodyBytes: Int { get }
}

extension Instrument {
  /// Adds no header fields.
  public func fields(for exchange: InstrumentEvent.Exchange) -> HTTPHeaders { [:] }

  /// No bytes.
  public var maximumBodyBytes: Int { 0 }
}
