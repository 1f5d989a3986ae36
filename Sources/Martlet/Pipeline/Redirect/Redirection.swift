/// Where a response redirects to and with what: a pure function of the request, the response and the policy.
enum Redirection {
  /// What follows from a response.
  enum Step {
    /// It is the answer.
    case none
    /// This request is next.
    case next(HTTPRequest)
    /// It must not be followed.
    case refused(HTTPError.Kind, String)
  }

  /// The statuses that redirect; 300, 304, 305 and 306 never do.
  static func isRedirect(_ status: HTTPStatus) -> Bool { [301, 302, 303, 307, 308].contains(status.rawValue) }

  /// The next step.
  ///
  /// - Parameters:
  ///   - status: The status of the response.
  ///   - headers: Its header fields.
  ///   - request: The request that it answers, with a whole URL.
  ///   - policy: The policy.
  /// - Returns: What follows.
  static func step(status: HTTPStatus, headers: HTTPHeaders, request: HTTPRequest, policy: RedirectPolicy) -> Step {
    guard policy.isFollowing, isRedirect(status), let location = headers["Location"], !location.isEmpty,
      let current = try? request.target.resolve(against: nil, adding: request.query)
    else { return .none }
    let next: AbsoluteURL
    do { next = try current.resolving(location) } catch { return .refused(.redirectRefused, error.message) }
    if current.isSecure && !next.isSecure && !policy.allowsDowngrade {
      return .refused(.redirectRefused, "a redirect from https to http (\(next.redacted)) is not followed")
    }
    var following = request
    following.target = RequestTarget(next)
    following.query = [:]
    if becomesGet(status, request.method, policy) { dropBody(of: &following) }
    if following.body?.isReplayable == false {
      return .refused(.bodyNotReplayable, "the redirect wants the body again, which can be sent only once")
    }
    following.headers.remove("Host")
    if next.origin != current.origin { dropCredentials(of: &following) }
    return .next(following)
  }

  /// Removes what was meant for one origin only.
  static func dropCredentials(of request: inout HTTPRequest) {
    for name in ["Authorization", "Cookie", "Cookie2", "Proxy-Authorization", "WWW-Authenticate"] {
      request.headers.remove(name)
    }
  }

  private static func becomesGet(_ status: HTTPStatus, _ method: HTTPMethod, _ policy: RedirectPolicy) -> Bool {
    switch status.rawValue {
    case 303: method != .head && method != .get
    case 301, 302: method == .post && !policy.keepsMethod
    default: false
    }
  }

  /// RFC 9110 §15.4: the fields that describe the content go with it.
  private static func dropBody(of request: inout HTTPRequest) {
    request.method = .get
    request.body = nil
    for name in [
      "Content-Encoding", "Content-Language", "Content-Location", "Content-Type", "Content-Length", "Digest",
      "Content-Digest", "Last-Modified", "Transfer-Encoding",
    ] {
      request.headers.remove(name)
    }
  }
}
