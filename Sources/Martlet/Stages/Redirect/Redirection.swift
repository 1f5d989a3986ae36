import MartletBase

/// Where a response redirects to and with what: a pure function of the request, the response and the policy.
enum Redirection {
  enum Step {
    /// It is the answer.
    case none
    case next(HTTPRequest)
    case refused(HTTPError.Kind, String)
  }

  /// The statuses that redirect; 300, 304, 305 and 306 never do.
  static func isRedirect(_ status: HTTPStatus) -> Bool {
    switch status.rawValue {
    case 301, 302, 303, 307, 308: true
    default: false
    }
  }

  /// The URL that a response redirects to as it is written, if it redirects at all.
  static func location(_ status: HTTPStatus, _ headers: HTTPHeaders) -> String? {
    isRedirect(status) ? headers[all: "Location"].first { !$0.isEmpty } : nil
  }

  /// The next step after the response to `request`, which has a whole URL.
  ///
  /// `upgrade` makes a URL an https one, if its host is known to want that.
  static func step(
    status: HTTPStatus, headers: HTTPHeaders, request: HTTPRequest, policy: RedirectPolicy,
    upgrade: (AbsoluteURL) -> AbsoluteURL = { $0 }
  ) -> Step {
    guard policy.isFollowing, let location = location(status, headers),
      let current = try? request.target.resolve(against: nil, adding: request.query)
    else { return .none }
    // RFC 9110 §5.3: a field of one value stands once. Others might follow another one.
    guard headers[all: "Location"].allSatisfy({ $0 == location }) else {
      return .refused(.redirectRefused, "a redirect with different Location fields is not followed")
    }
    let next: AbsoluteURL
    do {
      // Read a second time without its userinfo: a server does not choose the credentials of a request.
      next = upgrade(try AbsoluteURL.parse(try current.resolving(location).string))
    } catch {
      return .refused(.redirectRefused, error.message)
    }
    guard next.string.utf8.count <= FieldRules.maximumURLBytes else {
      return .refused(
        .redirectRefused, "a redirect to a URL longer than \(FieldRules.maximumURLBytes) bytes is not followed")
    }
    if current.isSecure && !next.isSecure && !policy.allowsDowngrade {
      return .refused(.redirectRefused, "a redirect from https to http (\(next.redacted)) is not followed")
    }
    var following = request
    following.target = RequestTarget(next)
    following.query = [:]
    if becomesGet(status, request.method, policy) {
      if following.method != .head { following.method = .get }
      dropBody(of: &following)
    }
    if !following.isUsable {
      return .refused(.bodyNotReplayable, "the redirect needs the body again, but it can be sent only once")
    }
    following.headers.remove("Host")
    if next.origin != current.origin { dropCredentials(of: &following) }
    Referrer.keepModest(&following.headers, redirectedFrom: current, to: next)
    return .next(following)
  }

  /// Removes what was meant for one origin only.
  static func dropCredentials(of request: inout HTTPRequest) {
    for name in ["Authorization", "Cookie", "Cookie2", "Proxy-Authorization", "WWW-Authenticate"] {
      request.headers.remove(name)
    }
  }

  /// Whether the next request reads: a `GET`, or a `HEAD` that stays one.
  private static func becomesGet(_ status: HTTPStatus, _ method: HTTPMethod, _ policy: RedirectPolicy) -> Bool {
    switch status.rawValue {
    case 303: true
    case 301, 302: method == .post && !policy.keepsMethod
    default: false
    }
  }

  /// RFC 9110 §15.4: the fields that describe the content go with it.
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
