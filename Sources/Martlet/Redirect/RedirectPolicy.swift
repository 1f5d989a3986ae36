/// The rules for following redirects (RFC 9110 §15.4).
public struct RedirectPolicy: Sendable {
  /// A redirect that a policy decides on.
  public struct Hop: Sendable {
    /// The status of the redirecting response.
    public var status: HTTPStatus
    /// The header fields of the redirecting response.
    public var headers: HTTPHeaders
    /// The request that was redirected.
    public var request: HTTPRequest
    /// The request that would be sent next, with the method, body and header fields set by the policy.
    public var next: HTTPRequest
    /// The number of redirects followed so far.
    public var count: Int
  }

  /// A decision about a redirect.
  @nonexhaustive public enum Decision: Sendable {
    /// Sends ``Hop/next``.
    case follow
    /// Returns the redirecting response itself.
    case stop
    /// Sends this request instead; it is checked and stripped of credentials like any redirect.
    case replace(HTTPRequest)
  }

  /// The maximum number of redirects per call; 10 by default.
  public var maximumHops = 10

  /// Whether 301 and 302 keep the method and body of a `POST`; `false` by default.
  ///
  /// `true` follows RFC 9110 §15.4 to the letter. By default the request becomes a `GET`, as in every browser.
  public var keepsMethod = false

  /// Whether a redirect from https to http is followed; `false` by default.
  ///
  /// If not, such a redirect throws ``HTTPError/Kind/redirectRefused``.
  public var allowsDowngrade = false

  var isFollowing = true
  var ask: (@Sendable (Hop) async throws -> Decision)?

  /// Follows up to ten redirects.
  public static let follow = RedirectPolicy()

  /// Follows no redirects and returns the redirecting response.
  public static let off = RedirectPolicy(isFollowing: false)

  /// Follows redirects, keeping the method and body on 301 and 302.
  public static let strictMethods = RedirectPolicy(keepsMethod: true)

  /// Follows up to a number of redirects.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of redirects.
  ///   - allowingDowngrade: Whether to follow redirects from https to http.
  /// - Returns: The policy.
  public static func follow(upTo limit: Int, allowingDowngrade: Bool = false) -> RedirectPolicy {
    RedirectPolicy(maximumHops: limit, allowsDowngrade: allowingDowngrade)
  }

  /// Asks a closure about each redirect that the other rules allow.
  ///
  /// - Parameter decide: Receives the redirect. An error that it throws ends the call.
  /// - Returns: The policy.
  public static func ask(_ decide: @escaping @Sendable (Hop) async throws -> Decision) -> RedirectPolicy {
    RedirectPolicy(ask: decide)
  }

  var problem: String? {
    maximumHops < 0 ? "the redirect policy's maximumHops is \(maximumHops); it must not be negative" : nil
  }
}
