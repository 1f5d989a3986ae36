/// Watches the requests of a client, for logs, metrics, traces and recordings.
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
/// An instrument watches; a ``Middleware`` changes. Events are values. They are delivered on a queue of the client, one
/// at a time and in order, up to 5 ms after they happen, and never while a lock is held. So an instrument that takes its time delays no request. Up to
/// 10,000 events may wait for it; further ones are dropped, which ``InstrumentEvent/droppedCount`` of the next event
/// tells. Clients with the same instruments, and a client whose instruments were changed, may call one at the same time
/// for different calls. An instrument that sends requests itself uses a client without that instrument.
///
/// With an instrument, all decisions are recorded, as with ``RequestOptions/explains``.
///
/// Implement a requirement that has a default with exactly its types and effects. The compiler accepts a `fields(for:)`
/// that throws or is `async`, but that is another method, which is never called.
public protocol Instrument: Sendable {
  /// Receives an event.
  ///
  /// - Parameter event: The event.
  func observe(_ event: InstrumentEvent)

  /// Returns header fields to add to an exchange, such as `traceparent`.
  ///
  /// Called by the task of the request, before it waits for a connection; the request waits for it, without a limit. Fields
  /// that the request has already are kept. A field that is invalid, or that decides about the request, such as
  /// `Authorization`, `Cookie`, `Host` or `Range`, makes it fail with ``HTTPError/Kind/invalidRequest``.
  ///
  /// - Parameter exchange: The exchange.
  /// - Returns: The fields; none by default.
  func fields(for exchange: InstrumentEvent.Exchange) -> HTTPHeaders

  /// The number of bytes of each body that ``InstrumentEvent/Summary`` has: its beginning.
  ///
  /// 0 by default, for none. Read once, when the client is created or changed. Each exchange in progress keeps up to
  /// twice this number in memory, and so does each event that waits for delivery.
  var maximumBodyBytes: Int { get }
}

extension Instrument {
  /// Adds no header fields.
  public func fields(for exchange: InstrumentEvent.Exchange) -> HTTPHeaders { [:] }

  /// No bytes.
  public var maximumBodyBytes: Int { 0 }
}
