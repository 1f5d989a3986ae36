import MartletBase

extension ActivityMonitor {
  /// The state of the limits for one origin, tag or endpoint.
  ///
  /// With ``ConcurrencyPolicy/adaptive``, a ``CircuitBreaker`` or a ``RateLimit``, snapshots contain one for each
  /// origin, tag or endpoint that has had requests.
  public struct LoadState: Sendable, Hashable {
    /// The state of a ``CircuitBreaker``.
    @nonexhaustive public enum Circuit: Sendable, Hashable {
      /// Requests are sent.
      case closed
      /// Requests fail at once for this time.
      case open(for: Duration)
      /// One request is tried; the others fail at once.
      case probing
    }

    /// The name of the limited origin, tag or endpoint type.
    ///
    /// An example of an origin is `https://api.example:443`.
    public var name: String
    /// The number of exchanges in progress; 0 for a rate, which does not count them.
    public var running = 0
    /// The number of requests that wait to be sent.
    public var waiting = 0
    /// The current concurrency limit, or `nil` without an adaptive one.
    public var limit: Int?
    /// The median latency of the last exchanges, with adaptive concurrency.
    public var latency: Duration?
    /// The latency without queues, for comparison.
    public var baseline: Duration?
    /// The rate, or `nil` for concurrency and circuit.
    public var rate: RateLimit?
    /// The remaining time of a pause that the server requested.
    public var pause: Duration?
    /// The state of the circuit breaker.
    public var circuit = Circuit.closed
  }

  /// The use of a ``DataBudget``.
  public struct DataState: Sendable, Hashable {
    /// The bytes of the current period by tag; under `""`, those of requests without a tag, or all.
    public var used: [String: Int64]
    /// The budget in bytes.
    public var budget: Int64
    /// The time until the next period.
    public var timeUntilReset: Duration
  }
}

extension ClientCore {
  /// The states of the limits, by name.
  var loads: [ActivityMonitor.LoadState] {
    let now = gates.timeline.now()
    return gates.lines.map { line in
      let gate = line.gate
      var state = ActivityMonitor.LoadState(name: line.key.name)
      state.waiting = gate.waiting
      state.pause = gate.pauseLeft(now: now)
      if case .rate(let rate, _) = line.key {
        state.rate = rate
      } else {
        state.running = gate.inFlight
      }
      state.limit = gate.limit?.value
      state.latency = gate.limit?.latency.map { .seconds($0) }
      state.baseline = gate.limit?.baseline.map { .seconds($0) }
      switch gate.circuit.state {
      case .closed: state.circuit = .closed
      case .open(let until): state.circuit = .open(for: max(until - now, .zero))
      case .probing: state.circuit = .probing
      }
      return state
    }.ordered { $0.name < $1.name }
  }
}

extension AdmissionQueue.Key {
  fileprivate var name: String {
    switch self {
    case .origin(let origin, _, _), .rate(_, .origin(let origin)): "\(origin)"
    case .rate(_, .tag(let tag)): tag ?? ""
    case .rate(_, .endpoint(let endpoint)): endpoint?.name ?? ""
    }
  }
}
