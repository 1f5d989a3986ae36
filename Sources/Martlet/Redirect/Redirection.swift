import MartletBase

/// The target of a redirect, as a pure function of request, response and policy.
enum Redirection {
  enum Step {
    /// Deliver the response.
    case none(Reason)
    case next(Hop, Changes)
    case refused(Reason)
  }

  typealias Reason = Explanation.RedirectReason

  /// The changes to the next request, besides its URL.
  struct Changes: Sendable, Equatable {
    /// The previous method, if it is another one.
    var method: HTTPMethod?
    /// The removed fields that stay at their origin.
    var dropped: [String] = []
  }

  /// Whether a status is a redirect; 300, 304, 305 and 306 never are.
  static func isRedirect(_ status: HTTPStatus) -> Bool {
    switch status.rawValue {
    case 301, 302, 303, 307, 308: true
    default: false
    }
  }

  /// The unparsed target of a redirect as ``WireText``; `nil` for other responses.
  static func location(_ status: HTTPStatus, _ headers: HTTPHeaders) -> String? {
    isRedirect(status) ? headers[wires: "Location"].first { !$0.isEmpty } : nil
  }

  /// Whether the target of a redirect contains a host; a relative one refers to the service.
  static func namesHost(_ status: HTTPStatus, _ headers: HTTPHeaders) -> Bool {
    location(status, headers).map { URLParts(WireText.octets($0)[...]).authority != nil } ?? false
  }

  /// The next step after the response to `hop`.
  ///
  /// `fields` decides which fields another origin receives, and `upgrade` changes URLs of HSTS hosts to https. If the
  /// request changes the protocol, `ws` and `wss` URLs are followed as `http` and `https`.
  static func step(
    status: HTTPStatus, headers: HTTPHeaders, _ hop: Hop, policy: RedirectPolicy, changesProtocol: Bool = false,
    fields: OriginFields = OriginFields(), upgrade: (AbsoluteURL) -> AbsoluteURL = { $0 }
  ) -> Step {
    guard policy.isFollowing else { return .none(.off) }
    guard let location = location(status, headers) else { return .none(.noLocation) }
    // Location is a singleton field (RFC 9110 §5.3). With different values, other recipients may follow another one.
    guard headers[wires: "Location"].allSatisfy({ $0 == location }) else { return .refused(.differentLocations) }
    let current = hop.url
    let next: AbsoluteURL
    do {
      let target = changesProtocol ? RequestTarget.withHTTPScheme(location) : location
      // Parse the URL again without userinfo: a server must not choose the credentials of a request.
      next = upgrade(try AbsoluteURL.parse(try current.resolving(octets: WireText.octets(target)).string))
    } catch {
      return .refused(.invalidLocation(error.message))
    }
    guard next.string.utf8.count <= FieldRules.maximumURLBytes else {
      return .refused(.tooLong(maximum: FieldRules.maximumURLBytes))
    }
    if current.isSecure && !next.isSecure && !policy.allowsDowngrade {
      return .refused(.downgrade(to: Explanation.short(next.redacted)))
    }
    var following = hop.request
    var changes = Changes()
    if becomesGet(status, hop.method, policy) {
      if following.method != .head { following.method = .get }
      if following.method != hop.method { changes.method = hop.method }
      dropBody(of: &following)
    }
    if !following.isUsable { return .refused(.bodyNotReplayable) }
    following.headers.remove("Host")
    if next.origin != current.origin { changes.dropped = fields.drop(from: &following.headers) }
    Referrer.sanitize(&following.headers, redirectedFrom: current, to: next)
    return .next(Hop(following, at: next), changes)
  }

  /// Whether the next request loses its body and becomes a `GET`; a `HEAD` stays one.
  private static func becomesGet(_ status: HTTPStatus, _ method: HTTPMethod, _ policy: RedirectPolicy) -> Bool {
    switch status.rawValue {
    case 303: true
    case 301, 302: method == .post && !policy.keepsMethod
    default: false
    }
  }

  /// Removes the body, and the fields that describe it (RFC 9110 §15.4).
  private static func dropBody(of request: inout HTTPRequest) {
    request.body = nil
    let others = ["digest", "expect", "last-modified", "repr-digest", "transfer-encoding"]
    request.headers = HTTPHeaders(
      request.headers.filter {
        let name = FieldSyntax.lowercased($0.name)
        return !name.hasPrefix("content-") && !others.contains(name)
      })
  }
}
