import MartletBase

/// Whether requests to an unreachable origin fail at once.
///
/// ```swift
/// let client = HTTPClient { $0.circuitBreaker = .afterFailures(5, pause: .seconds(10)) }
/// ```
///
/// After a number of consecutive exchanges without a response, the circuit of the origin opens: during the pause, its
/// requests fail at once with ``HTTPError/Kind/circuitOpen``, whose ``HTTPError/underlying`` is the last failure. Then
/// one request at a time is tried. A response to it, with any status, closes the circuit; its failure opens the circuit
/// for another pause.
///
/// A failure is a connection that cannot be opened or is lost, a failed TLS handshake, a timeout, or a response that is
/// not HTTP. Cancelled requests do not count.
public struct CircuitBreaker: Sendable, Hashable {
  /// The number of failures; 0 for none.
  let failures: Int
  let pause: Duration

  /// No circuit breaker: every request is tried.
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
    if failures < 1 { return InvalidInput("the circuit breaker must allow at least 1 failure") }
    guard pause >= .milliseconds(1), pause <= .seconds(86_400) else {
      return InvalidInput("the circuit breaker's pause is \(pause); it must be from 1 ms to a day")
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

  /// The time for which requests are refused, zero while a probe is in progress; `nil` if a request could be the probe.
  func refusal(now: Duration) -> Duration? {
    switch state {
    case .closed: nil
    case .open(let until): until > now ? until - now : nil
    case .probing: .zero
    }
  }

  /// Makes a request the probe.
  mutating func probe() { state = .probing }

  /// Limits the end of the pause: a clock that was set back does not prolong it.
  mutating func notice(_ now: Duration, _ breaker: CircuitBreaker) {
    if case .open(let until) = state { state = .open(until: min(until, now.adding(breaker.pause))) }
  }

  /// Records a response.
  mutating func succeeded() {
    state = .closed(failures: 0)
    failure = nil
  }

  /// Records a failure; returns whether the circuit has opened.
  mutating func failed(_ error: HTTPError, isProbe: Bool, _ breaker: CircuitBreaker, now: Duration) -> Bool {
    switch state {
    case .closed(let failures):
      failure = Self.shown(error)
      guard !breaker.isOff, failures + 1 >= breaker.failures else {
        state = .closed(failures: min(failures, 1 << 20) + 1)
        return false
      }
    case .probing where isProbe: failure = Self.shown(error)
    // The exchange began before the circuit opened.
    case .probing, .open: return false
    }
    state = .open(until: now.adding(breaker.pause))
    return true
  }

  /// The part of a failure that other callers may see.
  private static func shown(_ error: HTTPError) -> HTTPError {
    HTTPError(error.kind, error.message, phase: error.phase)
  }

  /// Records that a probe ended without a result, so the next request becomes the probe.
  mutating func probeEnded(now: Duration) {
    if case .probing = state { state = .open(until: now) }
  }
}
