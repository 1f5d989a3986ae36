/// The limit on concurrent requests to one origin.
///
/// ```swift
/// let client = HTTPClient { $0.concurrency = .adaptive }
/// ```
///
/// With ``adaptive``, the client measures the latency of each origin, and lowers the limit when responses become
/// slower, time out or have the status 429 or 503. Further requests wait in the client instead of the server. A request
/// that would wait too long, or for which too many others wait, fails with ``HTTPError/Kind/overloaded`` before
/// anything is sent. An overloaded server thus works only on requests whose callers are still waiting.
public struct ConcurrencyPolicy: Sendable, Hashable {
  enum Rule: Sendable, Hashable {
    case automatic
    case fixed(Int)
    case adaptive(ClosedRange<Int>)
  }

  var rule: Rule

  /// The maximum time that a request waits to be sent; 5 seconds by default, at least 1 ms.
  ///
  /// For ``adaptive`` only: with a fixed limit, the time limits of the request apply.
  public var maximumWait = Duration.seconds(5)

  /// The maximum number of requests that wait for one origin; 1,000 by default.
  ///
  /// With 0, no request waits. For ``adaptive`` only.
  public var maximumWaiting = 1_000

  /// Only the connection limits apply; the default.
  ///
  /// Over HTTP/1, that is ``HTTPClient/Configuration/maximumConnectionsPerHost``. Over HTTP/2, it is 100 requests, or
  /// that number if it is higher.
  public static let automatic = ConcurrencyPolicy(rule: .automatic)

  /// A limit between 1 and 200 that adapts to each origin's latency.
  public static let adaptive = ConcurrencyPolicy(rule: .adaptive(1...200))

  /// A limit between two bounds that adapts to each origin's latency.
  ///
  /// Unless they are set, ``HTTPClient/Configuration/maximumConnectionsPerHost`` and
  /// ``HTTPClient/Configuration/maximumConnections`` are at least the upper bound, because over HTTP/1 each request
  /// needs a connection.
  ///
  /// - Parameter bounds: The bounds, from 1 to 10,000. The limit starts at 10, if that is between them.
  /// - Returns: The policy.
  public static func adaptive(_ bounds: ClosedRange<Int>) -> ConcurrencyPolicy {
    ConcurrencyPolicy(rule: .adaptive(bounds))
  }

  /// A separate limit for the requests to each host.
  ///
  /// It applies in addition to the connection limits. Over HTTP/2 it replaces the limit of 100. A host counts as an
  /// HTTP/2 host from the first TLS handshake that negotiates HTTP/2; until then, requests wait as they do for HTTP/1.
  /// Further requests wait in order of arrival.
  ///
  /// - Parameter limit: The limit, at least 1.
  /// - Returns: The policy.
  public static func fixed(_ limit: Int) -> ConcurrencyPolicy { ConcurrencyPolicy(rule: .fixed(limit)) }

  /// The bounds of an adaptive limit.
  var bounds: ClosedRange<Int>? { if case .adaptive(let bounds) = rule { bounds } else { nil } }

  var problem: InvalidInput? {
    if case .fixed(let limit) = rule, limit < 1 {
      return InvalidInput("the concurrency limit is \(limit); it must be at least 1")
    }
    if let bounds, bounds.lowerBound < 1 || bounds.upperBound > 10_000 {
      return InvalidInput("the concurrency limit's bounds are \(bounds); they must be from 1 to 10000")
    }
    if maximumWait < .milliseconds(1) {
      return InvalidInput("the concurrency limit's maximum wait is \(maximumWait); it must be at least 1 ms")
    }
    if maximumWaiting < 0 {
      return InvalidInput("the concurrency limit's maximumWaiting is \(maximumWaiting); it must not be negative")
    }
    return nil
  }
}
