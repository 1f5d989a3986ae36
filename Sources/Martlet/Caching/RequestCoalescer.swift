import MartletBase
import Synchronization

/// The running requests that equal requests may wait for (coalescing).
///
/// ```
///   join ─▶ lead ─▶ the response is stored: the others look it up again
///      │         ├▶ it cannot be stored, or fails before its head: the others send their own requests
///      │         └▶ the caller cancels, or the body is not read to its end: one of the others leads
///      └──▶ wait: for a short time until the head, longer for a body that will be stored; then send a request
/// ```
final class RequestCoalescer: Sendable {
  /// How long a request waits for another request's response, from the start of its own transaction.
  struct Patience: Equatable {
    /// Until the head of the response.
    static let head = Duration.milliseconds(500)
    /// Until the end of the response, if its head shows that it will be stored.
    static let body = Duration.seconds(10)

    let head: Duration
    let body: Duration

    /// Waits until points in time; half of the remaining time is left for the request itself.
    init(from now: Duration, until end: Duration?) {
      let most = end.map { max(($0 - now) / 2, .zero) } ?? Self.body
      (head, body) = (now + min(Self.head, most), now + min(Self.body, most))
    }
  }

  struct Key: Hashable {
    let hash: Int
    private let query: CacheQuery

    init(_ query: CacheQuery) { (self.query, hash) = (query, query.hashValue) }

    func hash(into hasher: inout Hasher) { hasher.combine(hash) }
  }

  enum CoalescingRole {
    case lead(Lease)
    case wait(InFlightRequest)
    /// The last response for this key could not be shared.
    case alone
  }

  /// The result of the leading request, for those that wait.
  enum End: Sendable {
    case stored
    case notStored
    case left
  }

  final class InFlightRequest: Sendable {
    fileprivate let result = Promise<End>()
    /// Whether the head of a response has arrived that will be stored.
    fileprivate let hasHead = Atomic(false)

    /// Waits for the end of the leading request; `nil` after the patience.
    func wait(_ patience: Patience, _ timeline: Timeline, _ abortSource: AbortSource) async throws -> End? {
      try await withAbort(abortSource) { [self] in
        try await race(
          of: End?.self,
          [
            { [result] in try await result.value() },
            { [self] in
              try await timeline.watchUntil(patience.head)
              if hasHead.load(ordering: .relaxed) { try await timeline.watchUntil(patience.body) }
              return nil
            },
          ])
      }
    }
  }

  /// The duty to end a coalesced request; a released lease ends it as `left`.
  final class Lease: Sendable {
    private let flights: RequestCoalescer
    private let key: Key
    fileprivate let flight: InFlightRequest

    fileprivate init(_ flights: RequestCoalescer, _ key: Key, _ flight: InFlightRequest) {
      self.flights = flights
      self.key = key
      self.flight = flight
    }

    deinit { end(.left) }

    /// Records that the head has arrived, and that the response will be stored.
    func recordHead() { flight.hasHead.store(true, ordering: .relaxed) }

    func end(_ end: End) {
      flights.end(key, flight, end)
      flight.result.resolve(.success(end))
    }
  }

  private struct State: ~Copyable {
    var flights: [Key: InFlightRequest] = [:]
    /// The hashes of keys whose responses could not be shared, each in its slot.
    var lonely = [Int](repeating: 0, count: 256)
  }

  private let state = Locked(State())

  func join(_ key: Key) -> CoalescingRole {
    state.withLock { state in
      guard state.lonely[key.hash & 255] != key.hash else { return .alone }
      if let flight = state.flights[key] { return .wait(flight) }
      let flight = InFlightRequest()
      state.flights[key] = flight
      return .lead(Lease(self, key, flight))
    }
  }

  private func end(_ key: Key, _ flight: InFlightRequest, _ end: End) {
    state.withLock { state in
      guard state.flights[key] === flight else { return }
      state.flights[key] = nil
      switch end {
      case .notStored: state.lonely[key.hash & 255] = key.hash
      case .stored: if state.lonely[key.hash & 255] == key.hash { state.lonely[key.hash & 255] = 0 }
      case .left: break
      }
    }
  }
}
