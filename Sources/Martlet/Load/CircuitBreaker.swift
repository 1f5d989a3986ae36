import MartletBase

/// Whether requests to an origin that cannot be reached fail at once.
///
/// ```swift
/// let client = HTTPClient { $0.circuitBreaker = .afterFailures(5, pause: .seconds(10)) }
/// ```
///
/// After so many exchanges without a response, one after the other, the circuit of the origin is open: for the pause, its
/// requests fail at once with ``HTTPError/Kind/circuitOpen``, whose ``HTTPError/underlying`` is the last failure. Then one
/// request at a time is tried. Its response, with any status, closes the circuit; its failure opens it for another pause.
///
/// A failure is a connection that cannot be opened or is lost, a failed TLS handshake, a time limit, or an answer that is
/// not HTTP. Cancelled requests do not count.
public struct CircuitBreaker: Sendable, Hashable {
  /// The number of failures; 0 for none.
  let failures: Int
  let pause: Duration

  /// Every request is tried.
  public static let off = CircuitBreaker(failures: 0, pause: .zero)

  /// The circuit opens after a number of failures.
  ///
  /// - Parameters:
  ///   - failures: The number, at least 1.
  ///   - pause: How long requests fail at once, from 1 ms to a day.
  /// - Returns: The circuit breaker.
  public static func afterFailures(_ failures: Int, pause: Duration = .seconds(10)) -> CircuitBreaker {
    // Zero means off: an illegal number stays illegal.
    CircuitBreaker(failures: failures == 0 ? -1 : failures, pause: pause)
  }

  var isOff: Bool { failures == 0 }

  var problem: InvalidInput? {
    guard !isOff else { return nil }
    if failures < 1 { return InvalidInput("the circuit breaker opens after less than 1 failure") }
    guard pause >= .milliseconds(1), pause <= .seconds(86_400) else {
      return InvalidInput("the pause of the circuit breaker is \(pause); it must be from 1 ms to a day")
    }
    return nil
  }
}

/// The circuit of one origin.
///
/// ```
/// closed ─failures─▶ open ─pause─▶ probing ─response─▶ closed
///                     ▲               │
///                     └───failure─────┘
/// ```
struct Circuit {
  enum State: Equatable {
    case closed(failures: Int)
    case open(until: Duration)
    case probing
  }

  private(set) var state = State.closed(failures: 0)
  var isClosed: Bool { if case .closed = state { true } else { false } }
  /// The last failure.
  private(set) var failure: HTTPError?

  /// For how long requests are refused, zero while a probe is under way; `nil` if one could be the probe.
  func refusal(now: Duration) -> Duration? {
    switch state {
    case .closed: nil
    case .open(let until): until > now ? until - now : nil
    case .probing: .zero
    }
  }

  /// Notes that a request is the probe.
  mutating func probe() { state = .probing }

  /// Notes the time: a clock that was set back does not prolong the pause.
  mutating func notice(_ now: Duration, _ breaker: CircuitBreaker) {
    if case .open(let until) = state { state = .open(until: min(until, now.adding(breaker.pause))) }
  }

  /// Notes a response.
  mutating func succeeded() {
    state = .closed(failures: 0)
    failure = nil
  }

  /// Notes a failure; returns whether the circuit has opened.
  mutating func failed(_ error: HTTPError, isProbe: Bool, _ breaker: CircuitBreaker, now: Duration) -> Bool {
    switch state {
    case .closed(let failures):
      failure = Self.shown(error)
      guard !breaker.isOff, failures + 1 >= breaker.failures else {
        state = .closed(failures: min(failures, 1 << 20) + 1)
        return false
      }
    case .probing where isProbe: failure = Self.shown(error)
    // Exchanges that began earlier.
    case .probing, .open: return false
    }
    state = .open(until: now.adding(breaker.pause))
    return true
  }

  /// What other callers may know of a failure.
  private static func shown(_ error: HTTPError) -> HTTPError {
    HTTPError(error.kind, error.message, phase: error.phase)
  }

  /// Notes that a probe ended without a result: the next request is one.
  mutating func probeEnded(now: Duration) {
    if case .probing = state { state = .open(until: now) }
  }
}
