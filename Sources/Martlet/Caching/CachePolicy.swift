/// How a request uses the cache.
///
/// At most one of ``revalidateWhenStale``, ``alwaysRevalidate``, ``preferCached`` and ``onlyCached`` says when a stored
/// response is used; without any of them, the first applies. A set that contradicts itself throws
/// ``HTTPError/Kind/invalidRequest`` before anything is sent.
public struct CachePolicy: OptionSet, Sendable, Hashable {
  public let rawValue: UInt16

  /// Creates a policy from its raw value.
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// Uses no stored response.
  public static let neverRead = CachePolicy(rawValue: 1)
  /// Stores no response and updates none.
  public static let neverWrite = CachePolicy(rawValue: 2)
  /// Uses a stored response while it is fresh, and revalidates it otherwise (RFC 9111 §4).
  public static let revalidateWhenStale = CachePolicy(rawValue: 4)
  /// Revalidates a stored response each time, even in intermediate caches.
  ///
  /// The request has `Cache-Control: max-age=0`, unless it already has a `Cache-Control` field.
  public static let alwaysRevalidate = CachePolicy(rawValue: 8)
  /// Uses a stored response however old it is, and asks the server only if there is none.
  public static let preferCached = CachePolicy(rawValue: 16)
  /// Uses a stored response however old it is; without one the request throws ``HTTPError/Kind/notCached``.
  public static let onlyCached = CachePolicy(rawValue: 32)
  /// Uses a stored response of any age if all attempts fail: no connection, a timeout, or a 5xx status.
  public static let fallbackOnError = CachePolicy(rawValue: 64)
  /// Uses a stale response and asks the server in the background, for as long as the server allows
  /// (`stale-while-revalidate`, RFC 5861 §3), or always together with ``preferCached``.
  public static let staleWhileRevalidate = CachePolicy(rawValue: 128)
  /// Ignores the server's cache directives.
  public static let ignoreServerDirectives = CachePolicy(rawValue: 256)

  /// The behavior of a private cache according to RFC 9111; the default.
  public static let standard: CachePolicy = [.revalidateWhenStale, .staleWhileRevalidate]
  /// Does not use the cache.
  public static let off: CachePolicy = [.neverRead, .neverWrite]

  /// The description of a contradiction in the policy, or `nil`.
  var problem: String? {
    let modes: [(CachePolicy, String)] = [
      (.revalidateWhenStale, "revalidateWhenStale"), (.alwaysRevalidate, "alwaysRevalidate"),
      (.preferCached, "preferCached"), (.onlyCached, "onlyCached"),
    ]
    let reading = modes.filter { contains($0.0) }.map(\.1)
    func clash(_ first: String, _ second: String) -> String {
      "the cache policies \(first) and \(second) contradict each other"
    }
    if reading.count > 1 { return clash(reading[0], reading[1]) }
    let extras = [(CachePolicy.fallbackOnError, "fallbackOnError"), (.staleWhileRevalidate, "staleWhileRevalidate")]
      .filter { contains($0.0) }.map(\.1)
    if contains(.neverRead), let other = reading.first ?? extras.first { return clash("neverRead", other) }
    if contains(.onlyCached), let other = extras.first { return clash("onlyCached", other) }
    if isSuperset(of: [.alwaysRevalidate, .staleWhileRevalidate]) {
      return clash("alwaysRevalidate", "staleWhileRevalidate")
    }
    return nil
  }
}
