import MartletBase
import Synchronization

/// The outcome of one request of an endpoint type.
@nonexhaustive public enum EndpointEvent<Output: Sendable>: Sendable {
  /// Its output.
  case succeeded(Output)
  /// Its error; cancelled requests are not reported.
  case failed(any Error)
  /// The listener was too slow, so this many events were dropped.
  ///
  /// They are the oldest events since the last report.
  case dropped(Int)
}

/// Delivers the outcomes of endpoints to the listeners of their types.
final class OutcomeHub: Sendable {
  private let count = Atomic<Int>(0)
  private let listeners = Locked<[ObjectIdentifier: Numbered<any Listening>]>([:])

  /// Ends the streams, because nothing can be published any longer.
  deinit { for ofType in listeners.withLock({ $0 }).values { ofType.forEach { $0.end() } } }

  /// Notifies the listeners of a type; costs one atomic read without listeners.
  func publish<E: Endpoint>(_ type: E.Type, _ event: EndpointEvent<E.Output>) {
    guard count.load(ordering: .relaxed) > 0 else { return }
    listeners.withLock { $0[ObjectIdentifier(type)] }?.forEach { ($0 as? Listener<E.Output>)?.deliver(event) }
  }

  func stream<E: Endpoint>(of type: E.Type, keeping limit: Int) -> AsyncStream<EndpointEvent<E.Output>> {
    let (events, continuation) = AsyncStream.makeStream(
      of: EndpointEvent<E.Output>.self, bufferingPolicy: .bufferingNewest(max(1, limit)))
    let listener = Listener(continuation)
    let key = ObjectIdentifier(type)
    let number = listeners.withLock { $0[key, default: Numbered()].add(listener) }
    count.add(1, ordering: .relaxed)
    continuation.onTermination = { [weak self] _ in
      let removed = self?.listeners.withLock { $0[key]?.remove(number) }
      if removed != nil { self?.count.subtract(1, ordering: .relaxed) }
    }
    return AsyncStream {
      let missed = listener.missed.exchange(0, ordering: .relaxed)
      if missed > 0 { return .dropped(missed) }
      var iterator = events.makeAsyncIterator()
      return await iterator.next()
    }
  }
}

private protocol Listening: Sendable { func end() }

/// A listener, and the number of unreported events that its full buffer has dropped.
///
/// It does not retain the stream, whose end is the end of the subscription.
private final class Listener<Output: Sendable>: Listening {
  private let continuation: AsyncStream<EndpointEvent<Output>>.Continuation
  let missed = Atomic<Int>(0)

  init(_ continuation: AsyncStream<EndpointEvent<Output>>.Continuation) { self.continuation = continuation }

  func end() { continuation.finish() }

  func deliver(_ event: EndpointEvent<Output>) {
    if case .dropped = continuation.yield(event) { missed.add(1, ordering: .relaxed) }
  }
}
