import MartletBase

/// Adds the origin's credentials, and answers its 401 responses (RFC 9110 §11.6).
struct AuthStage: Stage {
  /// The limit for one request, with or without a proxy.
  static let maximumExchanges = 4
  /// The maximum number of body bytes to read of a 401.
  ///
  /// The connection can be reused if the body is read to its end.
  private static let refusalBodyBytes = 64 << 10

  func run(_ hop: Hop, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    let call = context.call
    // An `Authorization` field that the caller has set is not replaced, and a 401 to it is not answered.
    guard let session = session(for: hop, context) else {
      let response = try await next(hop, context)
      if response.status == .unauthorized { call.recordSilence(to: hop.request) }
      return response
    }
    return try await answer(hop, session, context, next)
  }

  /// The session that answers the challenges to a request, if there is one.
  @inline(never) private func session(for hop: Hop, _ context: RequestContext) -> AuthSession? {
    guard !hop.headers.contains("Authorization"),
      let session = context.call.authSession(at: hop.url, after: context.previousURLs), !session.isAnswering
    else { return nil }
    return session
  }

  @inline(never) private func answer(
    _ hop: Hop, _ session: AuthSession, _ context: RequestContext, _ next: Next
  ) async throws -> StreamedResponse {
    let call = context.call
    let visit = AuthSession.Target(origin: hop.origin, call: call, context.abortSource)
    var context = context
    var uses: [AuthenticationScheme: Int] = [:]
    var exchanges = 0
    var sent = try await session.first(visit)
    if let answer = sent.answer { call.explain(.preemptive(answer.scheme, .server)) }
    while true {
      let filled = try fill(hop, &context, sent, &uses)
      exchanges += 1
      var response: StreamedResponse
      do {
        response = try await next(filled, context)
      } catch {
        session.undecided(sent, visit)
        throw Self.marked(error, exchanges)
      }
      guard response.status == .unauthorized else {
        if Self.isProof(response.status) {
          await session.accepted(sent, response.headers, visit)
        } else {
          session.undecided(sent, visit)
        }
        return response
      }
      guard exchanges < Self.maximumExchanges else {
        call.report(.decided(.declined(Self.tooManyExchanges, .server)))
        return response
      }
      guard let newer = try await following(&response, sent, uses, session, visit, call) else {
        call.report(.decided(.declined(session.silence(after: response.headers, sent, uses), .server)))
        return response
      }
      sent = newer
      try await proceed(with: sent, hop.request, &response, visit, call)
    }
  }

  // The functions below are not inlined: an async function reserves memory for its inlined callees while it waits.

  /// Marks an error that follows an earlier response of the server.
  @inline(never) static func marked(_ error: any Error, _ exchanges: Int) -> any Error {
    guard exchanges > 1, var error = error as? HTTPError else { return error }
    error.followsAnswer = true
    return error
  }

  /// Adds the credential to the request or, for connection-based authentication, to the context.
  @inline(never) private func fill(
    _ hop: Hop, _ context: inout RequestContext, _ sent: AuthSession.Sent, _ uses: inout [AuthenticationScheme: Int]
  ) throws -> Hop {
    context.handshake = nil
    context.credential = sent.answer?.credential
    guard let answer = sent.answer else { return hop }
    uses[answer.scheme, default: 0] += 1
    var filled = hop
    if answer.scheme.bindsConnection {
      context.handshake = try context.call.handshake(for: answer, to: hop.origin, hop.request)
    } else {
      filled.headers[wire: "Authorization"] = try answer.field(method: hop.method, url: hop.url)
    }
    return filled
  }

  /// The credential to send after a 401; `nil` to deliver the 401.
  @inline(never) private func following(
    _ response: inout StreamedResponse, _ sent: AuthSession.Sent, _ uses: [AuthenticationScheme: Int],
    _ session: AuthSession, _ visit: AuthSession.Target, _ call: Call
  ) async throws -> AuthSession.Sent? {
    do {
      let newer = try await session.following(response.headers, sent, uses, visit) {
        try await Self.drain(&response, visit.abortSource)
      }
      if newer != nil { try await Self.drain(&response, visit.abortSource) }
      return newer
    } catch let error as HTTPError {
      throw try await Self.completed(error, &response, call, visit.abortSource)
    }
  }

  /// Reports that the request is sent again; throws `bodyNotReplayable` if it cannot be.
  @inline(never) private func proceed(
    with sent: AuthSession.Sent, _ request: HTTPRequest, _ response: inout StreamedResponse,
    _ visit: AuthSession.Target, _ call: Call
  ) async throws {
    guard request.isUsable else {
      let error = HTTPError(
        .bodyNotReplayable,
        "the server requires authentication, but the body can be sent only once: use a replayable body")
      throw try await Self.completed(error, &response, call, visit.abortSource)
    }
    guard let answer = sent.answer else { return }
    call.report(.responded(answer.scheme, realm: answer.readableRealm, .server))
  }

  /// Whether a status shows that the credential was accepted.
  ///
  /// A 407 comes from a proxy, and a 5xx from a failing server; neither says anything about the credential.
  private static func isProof(_ status: HTTPStatus) -> Bool { status.rawValue < 500 && status.rawValue != 407 }

  /// Reads the body up to a limit, and keeps it in case the response is delivered.
  @inline(never) static func drain(_ response: inout StreamedResponse, _ abortSource: AbortSource) async throws {
    // A truncated body does not change the meaning of the head.
    let read = try? await response.body.read(upTo: refusalBodyBytes)
    response.body = ResponseBody(read?.data ?? .init())
    if read?.isWhole != true { response.isBodyTruncated = true }
    try abortSource.check()
  }

  /// Adds the 401 that led to the error.
  @inline(never) static func completed(
    _ error: HTTPError, _ response: inout StreamedResponse, _ call: Call, _ abortSource: AbortSource
  ) async throws -> HTTPError {
    try await drain(&response, abortSource)
    let (body, isWhole) = try await response.body.read(upTo: call.options.maximumErrorBodyBytes)
    if !isWhole { response.isBodyTruncated = true }
    var error = error
    error.describe(response.request)
    error.response = response.whole(body, asked: call.request, coders: nil)
    return error
  }
}

extension AuthStage {
  /// The reason if ``maximumExchanges`` are over.
  static let tooManyExchanges = Explanation.Reason(
    "tooManyExchanges", "at most \(maximumExchanges) exchanges are made for one request")
}

extension AuthSession {
  /// The credential to send after a challenge; `nil` if there is none.
  ///
  /// `drain` is called before a wait for the authenticator, which may need the connection.
  @inline(never) func following(
    _ headers: HTTPHeaders, _ sent: Sent, _ uses: [AuthenticationScheme: Int], _ visit: Target,
    drain: () async throws -> Void
  ) async throws -> Sent? {
    let newer: Sent
    switch step(after: headers, sent, uses: uses, visit) {
    case .deliver: return nil
    case .fail(let error): throw error
    case .send(let known): newer = known
    case .wait(let flight), .ask(let flight, _):
      try await drain()
      newer = try await wait(for: flight, visit)
    }
    guard let answer = newer.answer, uses[answer.scheme, default: 0] < 2, !answer.isSame(as: sent.answer) else {
      return nil
    }
    return newer
  }
}

extension Call {
  /// Records why a 401 is not answered, if no session handles its request.
  @inline(never) func recordSilence(to request: HTTPRequest) {
    var reason = Explanation.Reason.noCredential
    if request.headers.contains("Authorization") {
      reason = .init("ownField", "the request has an Authorization field already")
    } else if let origin = credential?.origin {
      reason = .init(
        "otherOrigin", "the credential is for \(origin), and is not used after a redirect to another origin")
    }
    report(.decided(.declined(reason, .server)))
  }

  /// The session for an origin: that of the call's credential, otherwise a configured one.
  ///
  /// A redirect from the origin and back does not restore the call's credential. Middleware may send the first request
  /// again.
  func authSession(at url: AbsoluteURL, after previous: [AbsoluteURL]) -> AuthSession? {
    let (settings, origin) = (settings, url.origin)
    let isFirst = previous.isEmpty && url == settings.upgraded(first.url)
    if let credential, settings.upgraded(credential.origin) == origin, isFirst || !hasLeft(origin) {
      return core.callSessions.session(for: credential)
    }
    return settings.configuration.authenticators.session(for: origin, base: baseOrigin)
  }

  /// The origin of the base URL, as requests are sent to it; `nil` without a valid one.
  var baseOrigin: Origin? { ((try? settings.baseOrigin.get()) ?? nil).map { settings.upgraded($0) } }

  /// Whether a redirect of the call has left the origin.
  private func hasLeft(_ origin: Origin) -> Bool {
    redirects.contains { redirect in
      [redirect.from, redirect.to].contains { (try? AbsoluteURL.parse($0.absoluteString).origin) != origin }
    }
  }
}
