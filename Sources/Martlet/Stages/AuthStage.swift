import MartletBase
import Foundation

/// Adds the origin's credentials, and answers its 401 responses (RFC 9110 §11.6).
struct AuthStage: Stage {
  /// The limit for one request, also with a proxy.
  static let maximumExchanges = 4
  /// The maximum number of body bytes to read of a 401.
  ///
  /// The connection can be reused if the body is read to its end.
  private static let refusalBodyBytes = 64 << 10

  func run(_ request: HTTPRequest, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    let call = context.call
    // An `Authorization` field that the caller has set is not replaced, and a 401 to it is not answered.
    guard let (url, session) = place(of: request, call) else {
      let response = try await next(request, context)
      if response.status == .unauthorized { call.noteSilence(to: request) }
      return response
    }
    return try await answer(request, url, session, context, next)
  }

  /// The URL of a request and the session that answers its challenges, if there is one.
  @inline(never) private func place(of request: HTTPRequest, _ call: Call) -> (AbsoluteURL, AuthSession)? {
    guard !request.headers.contains("Authorization"),
      let url = try? request.target.resolve(against: call.settings.configuration.baseURL, adding: request.query),
      let session = call.authSession(at: url.origin), !session.isAnswering
    else { return nil }
    return (url, session)
  }

  @inline(never) private func answer(
    _ request: HTTPRequest, _ url: AbsoluteURL, _ session: AuthSession, _ context: RequestContext, _ next: Next
  ) async throws -> StreamedResponse {
    let call = context.call
    let visit = AuthSession.Visit(origin: url.origin, call: call, context.abortSource)
    var context = context
    var uses: [AuthenticationScheme: Int] = [:]
    var exchanges = 0
    var sent = try await session.first(visit)
    if let answer = sent.answer { call.explain(.authentication(.addedAtOnce(answer.scheme, .server))) }
    while true {
      let filled = try fill(request, url, &context, sent, &uses)
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
        call.note(.authentication(.unanswered(.tooManyExchanges(maximum: Self.maximumExchanges), .server)))
        return response
      }
      guard let newer = try await following(&response, sent, uses, session, visit, call) else {
        call.note(.authentication(.unanswered(session.silence(after: response.headers, sent, uses), .server)))
        return response
      }
      sent = newer
      try await goOn(with: sent, request, &response, visit, call)
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
    _ request: HTTPRequest, _ url: AbsoluteURL, _ context: inout RequestContext, _ sent: AuthSession.Sent,
    _ uses: inout [AuthenticationScheme: Int]
  ) throws -> HTTPRequest {
    context.handshake = nil
    context.credential = sent.answer?.credential
    guard let answer = sent.answer else { return request }
    uses[answer.scheme, default: 0] += 1
    var filled = request
    if answer.scheme.bindsConnection {
      context.handshake = try context.call.handshake(for: answer, to: url.origin, request)
    } else {
      filled.headers[wire: "Authorization"] = try answer.field(method: request.method, url: url)
    }
    return filled
  }

  /// The credential to send after a 401; `nil` to deliver the 401.
  @inline(never) private func following(
    _ response: inout StreamedResponse, _ sent: AuthSession.Sent, _ uses: [AuthenticationScheme: Int],
    _ session: AuthSession, _ visit: AuthSession.Visit, _ call: Call
  ) async throws -> AuthSession.Sent? {
    switch session.step(after: response.headers, sent, uses: uses, visit) {
    case .deliver: return nil
    case .fail(let error): throw try await Self.completed(error, &response, call, visit.abortSource)
    case .send(let newer):
      guard Self.isWorthSending(newer, after: sent, uses) else { return nil }
      try await Self.drain(&response, visit.abortSource)
      return newer
    case .wait(let flight), .ask(let flight, _):
      // Drain before waiting: the authenticator may need the connection.
      try await Self.drain(&response, visit.abortSource)
      do {
        let newer = try await session.wait(for: flight, visit)
        return Self.isWorthSending(newer, after: sent, uses) ? newer : nil
      } catch let error as HTTPError {
        throw try await Self.completed(error, &response, call, visit.abortSource)
      }
    }
  }

  /// Reports that the request is sent again; throws `bodyNotReplayable` if it cannot be.
  @inline(never) private func goOn(
    with sent: AuthSession.Sent, _ request: HTTPRequest, _ response: inout StreamedResponse,
    _ visit: AuthSession.Visit, _ call: Call
  ) async throws {
    guard request.isUsable else {
      let error = HTTPError(
        .bodyNotReplayable,
        "the server requires authentication, but the body can be sent only once: use a replayable body")
      throw try await Self.completed(error, &response, call, visit.abortSource)
    }
    guard let answer = sent.answer else { return }
    call.emit(.authenticating(answer.scheme, realm: answer.readableRealm))
    call.note(.authentication(.answered(answer.scheme, realm: answer.readableRealm.map(Explanation.short), .server)))
  }

  /// Whether a status shows that the credential was accepted.
  ///
  /// A 407 comes from a proxy, and a 5xx from a failing server; neither says anything about the credential.
  private static func isProof(_ status: HTTPStatus) -> Bool { status.rawValue < 500 && status.rawValue != 407 }

  static func isWorthSending(
    _ newer: AuthSession.Sent, after old: AuthSession.Sent, _ uses: [AuthenticationScheme: Int]
  ) -> Bool {
    guard let answer = newer.answer else { return false }
    return uses[answer.scheme, default: 0] < 2 && !answer.isSame(as: old.answer)
  }

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
    error.response = response.whole(body, asked: call.request, decoder: nil)
    return error
  }
}

extension Call {
  /// Notes why a 401 is not answered, if no session answers for its request.
  @inline(never) func noteSilence(to request: HTTPRequest) {
    let reason: Explanation.Authentication.Reason =
      request.headers.contains("Authorization")
      ? .ownField : credential.map { .otherOrigin("\($0.origin)") } ?? .noCredential
    note(.authentication(.unanswered(reason, .server)))
  }

  /// The session for an origin: that of the call's credential, otherwise a configured one.
  func authSession(at origin: Origin) -> AuthSession? {
    let settings = settings
    if let credential, settings.upgraded(credential.origin) == origin, !hasLeft(origin) {
      return core.callSessions.session(for: credential)
    }
    let base = (try? settings.baseOrigin.get()) ?? nil
    return settings.configuration.authenticators.session(for: origin, base: base.map { settings.upgraded($0) })
  }

  /// Whether a redirect has left the origin.
  ///
  /// A redirect back to the origin must not restore the call's credential.
  private func hasLeft(_ origin: Origin) -> Bool {
    redirects.contains { hop in
      [hop.from, hop.to].contains { (try? AbsoluteURL.parse($0.absoluteString).origin) != origin }
    }
  }
}
