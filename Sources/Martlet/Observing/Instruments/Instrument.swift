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
/// at a time and in order, and never while a lock is held. So an instrument that takes its time delays no request. If
/// it takes longer than the requests, up to 10,000 events wait; further ones are dropped, which
/// ``InstrumentEvent/droppedCount`` of the next event tells.
///
/// With an instrument, all decisions are recorded, as with ``RequestOptions/explains``.
public protocol Instrument: Sendable {
  /// Receives an event.
  ///
  /// - Parameter event: The event.
  func observe(_ event: InstrumentEvent)

  /// Returns header fields to add to an exchange, such as `traceparent`.
  ///
  /// Called by the task of the request, right before it is sent; the request waits for it. Fields that the request has
  /// already are kept. An invalid field makes the request fail with ``HTTPError/Kind/invalidRequest``.
  ///
  /// - Parameter exchange: The exchange.
  /// - Returns: The fields; none by default.
  func fields(for exchange: InstrumentEvent.Exchange) -> HTTPHeaders
}

extension Instrument {
  /// Adds no header fields.
  public func fields(for exchange: InstrumentEvent.Exchange) -> HTTPHeaders { [:] }
}
