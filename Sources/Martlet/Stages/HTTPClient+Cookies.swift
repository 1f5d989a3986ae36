import MartletBase

extension HTTPClient {
  /// The jar of the client's cookies (``Configuration/cookies``).
  ///
  /// With ``CookieStore/off``, the jar stores nothing.
  public nonisolated var cookies: CookieJar { core.settings.jar }
}

extension HTTPResponse {
  /// The cookies that this response sets, even if no jar stored them.
  ///
  /// Cookies that its URL may not set are left out (RFC 6265bis §5.7), as are those of earlier hops of a redirect
  /// chain.
  public var cookies: [Cookie] { Cookie.set(by: headers, of: finalRequest) }
}

extension StreamedResponse {
  /// The cookies that this response sets, even if no jar stored them.
  ///
  /// Cookies that its URL may not set are left out (RFC 6265bis §5.7).
  public var cookies: [Cookie] { Cookie.set(by: headers, of: request) }
}

extension Cookie {
  fileprivate static func set(by headers: HTTPHeaders, of request: HTTPRequest) -> [Cookie] {
    guard let url = request.absoluteURL else { return [] }
    let now = Date()
    return headers[wires: "Set-Cookie"].prefix(SetCookie.maximumLines).compactMap { line in
      SetCookie(WireText.octets(line), now: now).flatMap { try? Cookie($0, from: url, now: now) }
    }
  }
}
