import MartletBase
import Foundation

/// Puts in the credentials of the origin, and answers its 401 (RFC 9110 §11.6).
struct AuthStage: Stage {
  /// The most exchanges for one request.
  private static let maximumExchanges = 4
  /// What is read of the body of a 401, so that its connection can be used again.
  private static let refusalBodyBytes = 64 << 10

  func run(_ request: HTTPRequest, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    let call = context.call
    // What the caller has set is neither replaced nor answered for.
    guard let (url, session) = place(of: request, call) else { return try await next(request, context) }
    return try await answer(request, url, session, context, next)
  }

  /// What answers for the place that a request goes to, if anything does.
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
    let visit = AuthSession.Visit(origin: url.origin, call: call)
    var context = context
    var uses: [AuthenticationChallenge.Scheme: Int] = [:]
    var exchanges = 0
    var sent = try await session.first(visit)
    while true {
      let filled = try fill(request, url, &context, sent, &uses)
      exchanges += 1
      var response: StreamedResponse
      do { response = try await next(filled, context) } catch { throw Self.marked(error, exchanges) }
      guard response.status == .unauthorized else {
        if Self.isProof(response.status) { await session.accepted(sent, response.headers, visit) }
        return response
      }
      guard exchanges < Self.maximumExchanges,
        let newer = try await following(&response, sent, uses, session, visit)
      else { return response }
      sent = newer
      try await goOn(with: sent, request, &response, call)
    }
  }

  // What follows is not inlined: an asynchronous function keeps room for all that is in it as long as a request waits.

  /// Notes whether the server had answered before.
  @inline(never) static func marked(_ error: any Error, _ exchanges: Int) -> any Error {
    guard exchanges > 1, var error = error as? HTTPError else { return error }
    error.followsAnswer = true
    return error
  }

  /// Puts in what answers for the request.
  @inline(never) private func fill(
    _ request: HTTPRequest, _ url: AbsoluteURL, _ context: inout RequestContext, _ sent: AuthSession.Sent,
    _ uses: inout [AuthenticationChallenge.Scheme: Int]
  ) throws -> HTTPRequest {
    context.handshake = nil
    context.credential = sent.answer?.credential
    guard let answer = sent.answer else { return request }
    uses[answer.scheme, default: 0] += 1
    var filled = request
    if answer.scheme.bindsConnection {
      context.handshake = try context.call.handshake(for: answer, to: url.origin, request)
    } else {
      filled.headers["Authorization"] = try answer.field(method: request.method, url: url)
    }
    return filled
  }

  /// What to send after a 401; `nil` if that is the response.
  @inline(never) private func following(
    _ response: inout StreamedResponse, _ sent: AuthSession.Sent, _ uses: [AuthenticationChallenge.Scheme: Int],
    _ session: AuthSession, _ visit: AuthSession.Visit
  ) async throws -> AuthSession.Sent? {
    switch session.step(after: response.headers, sent, uses: uses, visit) {
    case .deliver: return nil
    case .fail(let error): throw try await Self.completed(error, &response, visit.call)
    case .send(let newer):
      guard Self.isWorthSending(newer, after: sent, uses) else { return nil }
      try await Self.drain(&response, visit.call)
      return newer
    case .wait(let flight), .ask(let flight, _):
      // Before the wait: what is asked may need the connection.
      try await Self.drain(&response, visit.call)
      do {
        let newer = try await session.wait(for: flight, visit)
        return Self.isWorthSending(newer, after: sent, uses) ? newer : nil
      } catch let error as HTTPError {
        throw try await Self.completed(error, &response, visit.call)
      }
    }
  }

  /// Says that the request is sent once more, if it can be.
  @inline(never) private func goOn(
    with sent: AuthSession.Sent, _ request: HTTPRequest, _ response: inout StreamedResponse, _ call: Call
  ) async throws {
    guard request.isUsable else {
      let error = HTTPError(
        .bodyNotReplayable,
        "the server requires authentication, but the body can be sent only once: use a replayable body")
      throw try await Self.completed(error, &response, call)
    }
    if let answer = sent.answer { call.emit(.authenticating(answer.scheme, realm: answer.realm)) }
  }

  /// Whether a status says that a credential was good: a proxy and a failing server say nothing about it.
  private static func isProof(_ status: HTTPStatus) -> Bool { status.rawValue < 500 && status.rawValue != 407 }

  static func isWorthSending(
    _ newer: AuthSession.Sent, after old: AuthSession.Sent, _ uses: [AuthenticationChallenge.Scheme: Int]
  ) -> Bool {
    guard let answer = newer.answer else { return false }
    return uses[answer.scheme, default: 0] < 2 && !answer.isSame(as: old.answer)
  }

  /// Reads the body, up to a limit, and keeps it in case that this is the response after all.
  @inline(never) static func drain(_ response: inout StreamedResponse, _ call: Call) async throws {
    // A body that breaks off does not change what the head said.
    let read = try? await response.body.read(upTo: refusalBodyBytes)
    response.body = ResponseBody(read?.data ?? .init())
    if read?.isWhole != true { response.isBodyTruncated = true }
    try call.abortSource.check()
  }

  /// The error with the 401 that led to it.
  @inline(never) static func completed(
    _ error: HTTPError, _ response: inout StreamedResponse, _ call: Call
  ) async throws -> HTTPError {
    try await drain(&response, call)
    let (body, isWhole) = try await response.body.read(upTo: call.options.maximumErrorBodyBytes)
    if !isWhole { response.isBodyTruncated = true }
    var error = error
    error.describe(response.request)
    error.response = response.whole(body, asked: call.request, decoder: nil)
    return error
  }
}

/// A credential that was given with one call, in its URL or its options, for the origin that the call was made to.
struct CallCredential: Sendable, Hashable {
  let credential: Credential
  let origin: Origin
}

extension Call {
  /// Who answers for a place: what came with the call, else what the client was configured with.
  func authSession(at origin: Origin) -> AuthSession? {
    let settings = settings
    if let credential, settings.upgraded(credential.origin) == origin, !hasLeft(origin) {
      return core.callSessions.session(for: credential)
    }
    let base = (try? settings.baseOrigin.get()) ?? nil
    return settings.configuration.authenticators.session(for: origin, base: base.map { settings.upgraded($0) })
  }

  /// Whether a redirect has led away: who sends a request back does not get what was meant for the one before.
  private func hasLeft(_ origin: Origin) -> Bool {
    redirects.contains { hop in
      [hop.from, hop.to].contains { (try? AbsoluteURL.parse($0.absoluteString).origin) != origin }
    }
  }
}

/// The sessions of credentials that came with calls, so that the second call knows what the first one learned.
final class CallSessions: Sendable {
  private struct Key: Hashable {
    let credential: CallCredential
    let isProxy: Bool
  }

  private typealias Table = RecentTable<Key, AuthSession>
  private static let limit = 128

  private let sessions = Locked(Table(limit: limit))

  func session(for credential: CallCredential, isProxy: Bool = false) -> AuthSession {
    let key = Key(credential: credential, isProxy: isProxy)
    return sessions.withLock { sessions in
      if let session = sessions[key] { return session }
      let session = AuthSession(CredentialAuthenticator(credential.credential), isProxy: isProxy)
      sessions[key] = session
      return session
    }
  }

  /// Forgets all of them; calls under way keep theirs.
  func forget() { sessions.withLock { $0 = Table(limit: Self.limit) } }
}
