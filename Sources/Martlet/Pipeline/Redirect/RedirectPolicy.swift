/// How redirects are followed (RFC 9110 §15.4).
public struct RedirectPolicy: Sendable {
  /// A redirect to decide about.
  public struct Hop: Sendable {
    /// The status that redirects.
    public var status: HTTPStatus
    /// The header fields of the redirecting response.
    public var headers: HTTPHeaders
    /// The request that was redirected.
    public var request: HTTPRequest
    /// The request that would be sent, with method, body and header fields as the policy has them.
    public var next: HTTPRequest
    /// The number of redirects followed before.
    public var count: Int
  }

  /// What to do with a redirect.
  public enum Decision: Sendable {
    /// Send ``Hop/next``.
    case follow
    /// Deliver the redirecting response itself.
    case stop
    /// Send this request instead; it is checked and stripped of credentials like any other hop.
    case replace(HTTPRequest)
  }

  /// The maximum number of redirects per call; 10 by default.
  public var maximumHops = 10

  /// Whether 301 and 302 keep the method and body of a `POST`, as RFC 9110 §15.4 wants it in the letter; `false` by
  /// default: they become a `GET`, as every browser has it.
  public var keepsMethod = false

  /// Whether a redirect from https to http is followed; `false` by default, which throws
  /// ``HTTPError/Kind/redirectRefused``.
  public var allowsDowngrade = false

  var isFollowing = true
  var ask: (@Sendable (Hop) async throws -> Decision)?

  /// Follows up to ten redirects.
  public static let follow = RedirectPolicy()

  /// Follows no redirects: delivers the redirecting response.
  public static let off: RedirectPolicy = {
    var policy = RedirectPolicy()
    policy.isFollowing = false
    return policy
  }()

  /// Follows, keeping the method and body on 301 and 302.
  public static let strictMethods: RedirectPolicy = {
    var policy = RedirectPolicy()
    policy.keepsMethod = true
    return policy
  }()

  /// Follows up to a number of redirects.
  ///
  /// - Parameters:
  ///   - limit: The most redirects.
  ///   - allowingDowngrade: Whether https may become http.
  /// - Returns: The policy.
  public static func follow(upTo limit: Int, allowingDowngrade: Bool = false) -> RedirectPolicy {
    var policy = RedirectPolicy()
    policy.maximumHops = limit
    policy.allowsDowngrade = allowingDowngrade
    return policy
  }

  /// Asks a closure about each redirect that the other rules allow.
  ///
  /// - Parameter decide: Gets the redirect; what it throws ends the call.
  /// - Returns: The policy.
  public static func ask(_ decide: @escaping @Sendable (Hop) async throws -> Decision) -> RedirectPolicy {
    var policy = RedirectPolicy()
    policy.ask = decide
    return policy
  }

  var problem: String? {
    maximumHops < 0 ? "a redirect policy with \(maximumHops) hops" : nil
  }
}
