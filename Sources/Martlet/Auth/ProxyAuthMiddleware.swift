import Foundation

/// Answers the 407 of a proxy (RFC 9110 §11.7.1): in its answer to CONNECT, or in place of a response.
///
/// A 407 of anybody else is a response like others, and gets no credentials.
struct ProxyAuthMiddleware: Stage {
  private static let maximumExchanges = 4

  /// A proxy's no: as an error while connecting, or as a response.
  private enum Refusal {
    case error(HTTPError)
    case response(StreamedResponse)
  }

  func run(_ request: HTTPRequest, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    // What the caller has set is neither replaced nor answered for.
    guard !request.headers.contains("Proxy-Authorization") else { return try await next(request, context) }
    let call = context.call
    let exchange = ProxyExchange(call)
    var context = context
    context.proxyExchange = exchange
    var uses: [AuthenticationScheme: Int] = [:]
    var exchanges = 0
    while true {
      exchanges += 1
      var refusal: Refusal
      let use: ProxyExchange.Use
      let headers: HTTPHeaders
      do {
        let response = try await next(request, context)
        guard let used = exchange.use, !used.isTunnel, response.status.rawValue == 407 else {
          await Self.takeNote(of: response, exchange)
          return response
        }
        (refusal, use, headers) = (.response(response), used, response.headers)
      } catch let error as HTTPError {
        guard let answer = exchange.refusal, let used = exchange.use, used.isTunnel else { throw error }
        (refusal, use, headers) = (.error(error), used, Self.headers(answer, used.sent))
      }
      if let answer = use.sent.answer {
        uses[answer.scheme, default: 0] += 1
        use.onOutcome(false)
      }
      guard let session = use.session, exchanges < Self.maximumExchanges else {
        return try await Self.fail(refusal, use, call)
      }
      let newer: AuthSession.Sent
      switch session.step(after: headers, use.sent, uses: uses, exchange.visit(use.proxy)) {
      case .deliver: return try await Self.fail(refusal, use, call)
      case .fail(let error): throw Self.named(error, use.proxy)
      case .send(let sent): newer = sent
      case .wait(let flight), .ask(let flight, _):
        // Before the wait, which may need its connection.
        refusal = try await Self.drained(refusal, call)
        do {
          newer = try await session.wait(for: flight, exchange.visit(use.proxy))
        } catch let error as HTTPError {
          throw Self.named(error, use.proxy)
        }
      }
      guard AuthMiddleware.isWorthSending(newer, after: use.sent, uses), let answer = newer.answer else {
        return try await Self.fail(refusal, use, call)
      }
      guard request.isUsable else {
        throw HTTPError(
          .bodyNotReplayable,
          "the proxy \(use.proxy) wants credentials and the body again, which can be sent only once", request: request)
      }
      _ = try await Self.drained(refusal, call)
      exchange.sendNext(newer, to: use.proxy)
      call.emit(.authenticating(answer.scheme, realm: answer.realm))
    }
  }

  /// Remembers credentials that the proxy let pass.
  private static func takeNote(of response: StreamedResponse, _ exchange: ProxyExchange) async {
    guard let use = exchange.use, let session = use.session, use.sent.answer != nil else { return }
    if !use.isTunnel {
      // Of a proxy's own errors nothing follows; nor of a 401 that no server has sent like that, which some proxies say
      // to a wrong password.
      guard response.status.rawValue < 500,
        response.status != .unauthorized || response.headers.contains("WWW-Authenticate")
      else { return }
    }
    use.onOutcome(true)
    // The fields that come out of a tunnel are the server's.
    await session.accepted(use.sent, use.isTunnel ? [:] : response.headers, exchange.visit(use.proxy))
  }

  /// The fields of an answer to CONNECT, in which 401 without a challenge stands for the one that was answered.
  private static func headers(_ refusal: ProxyExchange.Refusal, _ sent: AuthSession.Sent) -> HTTPHeaders {
    if refusal.status == 407 { return refusal.headers }
    guard refusal.status == 401, let answer = sent.answer, answer.scheme == .basic else { return [:] }
    return ["Proxy-Authenticate": answer.realm.map { "Basic realm=\(FieldSyntax.quoted($0))" } ?? "Basic"]
  }

  private static func drained(_ refusal: Refusal, _ call: Call) async throws -> Refusal {
    guard case .response(var response) = refusal else { return refusal }
    try await AuthMiddleware.drain(&response, call)
    return .response(response)
  }

  private static func fail(
    _ refusal: Refusal, _ use: ProxyExchange.Use, _ call: Call
  ) async throws -> StreamedResponse {
    switch refusal {
    case .error(let error): throw error
    case .response(var response):
      let what = use.sent.answer == nil ? "wants credentials" : "did not accept the credentials"
      let error = HTTPError(.authenticationFailed, "the proxy \(use.proxy) \(what) (407)", phase: .waiting)
      throw try await AuthMiddleware.completed(error, &response, call)
    }
  }

  private static func named(_ error: HTTPError, _ proxy: Proxy) -> HTTPError {
    HTTPError(error.kind, "the proxy \(proxy): \(error.message)", phase: .connecting, underlying: error.underlying)
  }
}
