import MartletBase

/// One request of a redirect chain, with its URL.
///
/// | Origin | Function |
/// |---|---|
/// | the program's request | `RequestGate.admit` |
/// | a request that middleware or a redirect closure passes on | `RequestGate.replaced` |
/// | a redirect | `Redirection.step` |
/// | a server of a cluster | `Cluster.place` |
/// | HSTS | `ClientSettings.upgraded` |
///
/// Stages change header fields, and never the URL.
struct Hop: Sendable {
  /// The request, whose target is ``url``, and whose query is empty.
  private(set) var request: HTTPRequest

  /// Moves a request to a URL, which replaces its target and its query.
  init(_ request: HTTPRequest, at url: AbsoluteURL) {
    self.request = request
    if case .resolved(let known) = request.target.storage, known === url, request.query.isEmpty { return }
    self.request.target = RequestTarget(url)
    self.request.query = [:]
  }

  /// The complete URL.
  var url: AbsoluteURL {
    // Another target is impossible, because only `init` sets it.
    if case .resolved(let url) = request.target.storage { url } else { .localhost }
  }
  var origin: Origin { url.origin }
  var method: HTTPMethod { request.method }
  var body: HTTPBody? { request.body }
  var headers: HTTPHeaders {
    get { request.headers }
    set { request.headers = newValue }
  }
}
