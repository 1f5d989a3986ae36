import Martlet

/// Sends the command line's cookies in addition to the jar's, without storing them in the jar's file.
struct OwnCookies: Middleware {
  /// The remaining cookies from the command line; in memory.
  let jar: CookieJar

  func intercept(
    _ request: HTTPRequest, context: RequestContext, next: MiddlewareNext
  ) async throws -> StreamedResponse {
    let own = await jar.cookies(for: request.target)
    guard !own.isEmpty else { return try await next(request) }
    var request = request
    let others = request.headers[all: "Cookie"].flatMap { $0.split(separator: ";") }
      .map { $0.drop { $0 == " " } }
      .filter { other in !own.contains { other.hasPrefix("\($0.name)=") } }
    request.headers["Cookie"] = (others.map(String.init) + own.map { "\($0.name)=\($0.value)" }).joined(separator: "; ")
    let response = try await next(request)
    // A cookie that the server sets or removes belongs to the client's jar from then on.
    let set = response.headers[all: "Set-Cookie"].map { line in String(line.prefix { $0 != "=" && $0 != ";" }) }
    for cookie in own where set.contains(cookie.name) { await jar.remove(cookie) }
    return response
  }
}
