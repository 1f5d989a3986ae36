import MartletBase

/// Answers a proxy's 407 (RFC 9110 §11.7.1), to CONNECT or to a request.
///
/// A 407 from a server is an ordinary response, and receives no credentials.
struct ProxyAuthStage: Stage {
  /// A proxy's rejection with its context.
  ///
  /// A class, so it has the only reference to the response; releasing the response frees the connection.
  private final class Refused {
    /// A response, or an error while connecting.
    var refusal: Result<StreamedResponse, HTTPError>
    let use: ProxyExchange.Use
    let headers: HTTPHeaders

    init(_ refusal: Result<StreamedResponse, HTTPError>, _ use: ProxyExchange.Use, _ headers: HTTPHeaders) {
      self.refusal = refusal
      self.use = use
      self.headers = headers
    }
  }

  private enum Outcome {
    case response(StreamedResponse)
    case refused(Refused)
  }

  func run(_ hop: Hop, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    // A `Proxy-Authorization` field that the caller has set is not replaced, and a 407 to it is not answered.
    guard !hop.headers.contains("Proxy-Authorization") else { return try await next(hop, context) }
    let exchange = ProxyExchange(context)
    var context = context
    context.proxyExchange = exchange
    var uses: [AuthenticationScheme: Int] = [:]
    var exchanges = 0
    while true {
      exchanges += 1
      switch try await Self.send(hop, context, next, exchange, exchanges) {
      case .response(let response):
        await Self.takeNote(of: response, exchange)
        return response
      case .refused(let refused):
        if let answer = refused.use.sent.answer {
          uses[answer.scheme, default: 0] += 1
          refused.use.onOutcome(false)
        }
        let isLast = exchanges >= AuthStage.maximumExchanges
        try await Self.proceed(with: hop.request, after: refused, uses, isLast: isLast, exchange)
      }
    }
  }

  // The functions below are not inlined: an async function reserves memory for its inlined callees while it waits.

  /// Sends a request, and separates a proxy's 407, or its 401 to CONNECT, from other outcomes.
  @inline(never) private static func send(
    _ hop: Hop, _ context: RequestContext, _ next: Next, _ exchange: ProxyExchange, _ exchanges: Int
  ) async throws -> Outcome {
    do {
      let response = try await next(hop, context)
      guard let used = exchange.use, !used.isTunnel, response.status.rawValue == 407 else { return .response(response) }
      return .refused(Refused(.success(response), used, response.headers))
    } catch let error as HTTPError {
      guard let answer = exchange.refusal, let used = exchange.use, used.isTunnel else {
        if let used = exchange.use { used.session?.undecided(used.sent, exchange.visit(used.proxy)) }
        throw AuthStage.marked(error, exchanges)
      }
      return .refused(Refused(.failure(error), used, headers(answer, used.sent)))
    }
  }

  /// Chooses credentials for the next attempt; throws the proxy's rejection if there are none.
  @inline(never) private static func proceed(
    with request: HTTPRequest, after refused: Refused, _ uses: [AuthenticationScheme: Int], isLast: Bool,
    _ exchange: ProxyExchange
  ) async throws {
    let (call, use) = (exchange.call, refused.use)
    guard let session = use.session else { throw try await failure(.noCredential, refused, exchange) }
    guard !isLast else { throw try await failure(AuthStage.tooManyExchanges, refused, exchange) }
    let newer: AuthSession.Sent?
    do {
      newer = try await session.following(refused.headers, use.sent, uses, exchange.visit(use.proxy)) {
        try await drain(refused, exchange)
      }
    } catch let error as HTTPError {
      // The reason for an abort is thrown unchanged.
      try exchange.abortSource.check()
      throw HTTPError(
        error.kind, "the proxy \(use.proxy): \(error.message)", phase: .connecting, underlying: error.underlying)
    }
    guard let newer, let answer = newer.answer else {
      throw try await failure(session.silence(after: refused.headers, use.sent, uses), refused, exchange)
    }
    guard request.isUsable else {
      throw HTTPError(
        .bodyNotReplayable,
        "the proxy \(use.proxy) requires authentication, but the body can be sent only once: use a replayable body",
        request: request)
    }
    try await drain(refused, exchange)
    exchange.sendNext(newer, to: use.proxy)
    call.report(.responded(answer.scheme, realm: answer.readableRealm, .proxy))
  }

  /// Records credentials that the proxy accepted.
  @inline(never) private static func takeNote(of response: StreamedResponse, _ exchange: ProxyExchange) async {
    guard let use = exchange.use, let session = use.session, use.sent.answer != nil else { return }
    if !use.isTunnel {
      // A 5xx may be the proxy's own error. A 401 without a challenge is not from a server: some proxies send it to
      // reject a password.
      guard response.status.rawValue < 500,
        response.status != .unauthorized || response.headers.contains("WWW-Authenticate")
      else { return session.undecided(use.sent, exchange.visit(use.proxy)) }
    }
    use.onOutcome(true)
    // The header fields from a tunnel are the server's.
    await session.accepted(use.sent, use.isTunnel ? [:] : response.headers, exchange.visit(use.proxy))
  }

  /// The header fields of a response to CONNECT.
  ///
  /// Some proxies reject Basic credentials with a 401; it counts as a 407 that repeats the challenge.
  @inline(never) private static func headers(_ refusal: ProxyExchange.Refusal, _ sent: AuthSession.Sent) -> HTTPHeaders
  {
    if refusal.status == 407 { return refusal.headers }
    guard refusal.status == 401, let answer = sent.answer, answer.scheme == .basic else { return [:] }
    var headers: HTTPHeaders = [:]
    headers[wire: "Proxy-Authenticate"] = answer.realm.map { "Basic realm=\(FieldSyntax.quoted($0))" } ?? "Basic"
    return headers
  }

  @inline(never) private static func drain(_ refused: Refused, _ exchange: ProxyExchange) async throws {
    guard case .success(var response) = refused.refusal else { return }
    try await AuthStage.drain(&response, exchange.abortSource)
    refused.refusal = .success(response)
  }

  /// The error for a rejection that is not answered.
  @inline(never) private static func failure(
    _ reason: Explanation.Reason, _ refused: Refused, _ exchange: ProxyExchange
  ) async throws -> HTTPError {
    let call = exchange.call
    call.report(.decided(.declined(reason, .proxy)))
    let use = refused.use
    let challenges = Challenge.parse(refused.headers[wires: "Proxy-Authenticate"])
    let problem = DigestChallenge.problem(of: challenges, among: use.session?.schemes ?? [.basic, .digest])
    let why = problem.map { ": it \($0)" } ?? ""
    switch refused.refusal {
    case .failure(var error):
      error.message += why
      return error
    case .success(var response):
      let what = use.sent.answer == nil ? "requires authentication" : "did not accept the credentials"
      let error = HTTPError(.authenticationFailed, "the proxy \(use.proxy) \(what) (407)\(why)", phase: .waiting)
      return try await AuthStage.completed(error, &response, call, exchange.abortSource)
    }
  }
}
