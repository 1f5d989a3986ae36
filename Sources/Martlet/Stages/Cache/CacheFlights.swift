import MartletBase

/// The requests under way that others may wait for, because they ask for the same.
///
/// ```
///   join ─▶ lead ─▶ the response is stored: all others look again, and find it
///      │         ├▶ it cannot be stored, or failed: all others ask for themselves
///      │         └▶ the caller left: one of the others leads
///      └──▶ wait, for a bounded time
/// ```
final class CacheFlights: Sendable {
  /// How long to wait for somebody else's response.
  static let patience = Duration.seconds(10)

  struct Key: Hashable {
    let query: CacheQuery
    let hash: Int

    init(_ query: CacheQuery) {
      var hasher = Hasher()
      hasher.combine(query.url)
      hasher.combine(query.owner)
      hasher.combine(query.headers)
      self.query = query
      hash = hasher.finalize()
    }

    static func == (left: Key, right: Key) -> Bool {
      left.hash == right.hash && left.query.url == right.query.url && left.query.owner == right.query.owner
        && left.query.headers == right.query.headers
    }

    func hash(into hasher: inout Hasher) { hasher.combine(hash) }
  }

  enum Place {
    case lead(Lease)
    case wait(Flight)
    /// What came for this the last time could not be shared.
    case alone
  }

  /// How a flight ended for those who wait.
  enum End: Sendable {
    case stored
    case notStored
    case left
  }

  final class Flight: Sendable {
    fileprivate let result = SharedResult<End>()

    /// Waits for the end; `nil` if it took too long.
    func wait(_ call: Call) async throws -> End? {
      let once = OneShot<End?>()
      let waiter = Task { [result] in once.resolve(.success(try? await result.value())) }
      let sleeper = Task { [timeline = call.core.timeline] in
        if (try? await timeline.watch(CacheFlights.patience)) != nil { once.resolve(.success(nil)) }
      }
      let token = call.abortSource.onAbort { once.resolve(.failure($0)) }
      defer {
        waiter.cancel()
        sleeper.cancel()
        call.abortSource.remove(token)
      }
      return try await once.value()
    }
  }

  /// The duty to end a flight; dropped, it ends as one that was left.
  final class Lease: Sendable {
    private let flights: CacheFlights
    private let key: Key
    fileprivate let flight: Flight

    fileprivate init(_ flights: CacheFlights, _ key: Key, _ flight: Flight) {
      self.flights = flights
      self.key = key
      self.flight = flight
    }

    deinit { end(.left) }

    func end(_ end: End) {
      flights.end(key, flight, end)
      flight.result.resolve(.success(end))
    }
  }

  private struct State {
    var flights: [Key: Flight] = [:]
    /// The hashes of what could not be shared, each at its place.
    var lonely = [Int](repeating: 0, count: 256)
  }

  private let state = Locked(State())

  func join(_ key: Key) -> Place {
    state.withLock { state in
      guard state.lonely[key.hash & 255] != key.hash else { return .alone }
      if let flight = state.flights[key] { return .wait(flight) }
      let flight = Flight()
      state.flights[key] = flight
      return .lead(Lease(self, key, flight))
    }
  }

  private func end(_ key: Key, _ flight: Flight, _ end: End) {
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
