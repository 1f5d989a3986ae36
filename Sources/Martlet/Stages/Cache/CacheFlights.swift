import MartletBase

/// The running requests that equal requests may wait for (coalescing).
///
/// ```
///   join ─▶ lead ─▶ the response is stored: the others look it up again
///      │         ├▶ it cannot be stored, or fails before its head: the others send their own requests
///      │         └▶ the caller cancels, or the body is not read to its end: one of the others leads
///      └──▶ wait, for a limited time
/// ```
final class CacheFlights: Sendable {
  /// The longest wait for another request's response.
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
    /// The last response for this key could not be shared.
    case alone
  }

  /// The result of the leading request, for those that wait.
  enum End: Sendable {
    case stored
    case notStored
    case left
  }

  final class Flight: Sendable {
    fileprivate let result = SharedResult<End>()

    /// Waits for the end of the leading request; `nil` after ``CacheFlights/patience``.
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

  /// The duty to end a flight; a released lease ends it as `left`.
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
    /// The hashes of keys whose responses could not be shared, each in its slot.
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
