import Martlet
import MartletBase

/// Obtains and refreshes the tokens of one authenticator, which several clients and origins may use.
///
/// A renewal runs in its own task, because it must not end with the request that started it: its response may contain the
/// only valid refresh token. The limits of the client for the authorization server end it.
final class TokenSession: Sendable {
  /// Stands for "no token yet": it has expired, so the authenticator requests one before it sends a request.
  static let placeholder = Credential.token("none", expires: Date(timeIntervalSince1970: 0))
  /// The maximum number of steps; a store whose token changes all the time would otherwise keep it busy.
  private static let maximumSteps = 8

  private let client: OAuthClient
  private let grant: OAuthClient.Grant
  private let ledger: Locked<TokenLedger>
  /// The renewal that runs now.
  private let renewal = Locked<Promise<OAuthToken>?>(nil)

  init(_ client: OAuthClient, _ grant: OAuthClient.Grant) {
    self.client = client
    self.grant = grant
    ledger = Locked(TokenLedger(grant.token))
  }

  /// The token to use instead of an old one; `nil` after the user has signed out.
  ///
  /// Renewals run one after another. A caller that waits for one shares its result, unless that is the caller's old token.
  func renew(_ old: Credential?) async throws -> Credential? {
    guard let old else {
      ledger.withLock { $0 = TokenLedger() }
      return nil
    }
    let rejected = old == Self.placeholder ? nil : old.token
    for _ in 0..<Self.maximumSteps {
      try Task.checkCancellation()
      let (running, isOwn) = join(rejected)
      let token = try await running.value()
      if isOwn || token.accessToken != rejected { return token.credential }
    }
    throw Self.changing
  }

  private static var changing: HTTPError {
    HTTPError(.authenticationFailed, "the token store returns another refused token each time")
  }

  /// The renewal that runs, or a new one, and whether it is new.
  private func join(_ rejected: String?) -> (Promise<OAuthToken>, isOwn: Bool) {
    let (promise, isOwn) = renewal.withLock { running in
      if let running { return (running, false) }
      let promise = Promise<OAuthToken>()
      running = promise
      return (promise, true)
    }
    guard isOwn else { return (promise, false) }
    Task {
      let result: Result<OAuthToken, any Error>
      do { result = .success(try await replacement(for: rejected)) } catch { result = .failure(error) }
      renewal.withLock { $0 = nil }
      promise.resolve(result)
    }
    return (promise, true)
  }

  /// A token other than the rejected one, saved.
  private func replacement(for rejected: String?) async throws -> OAuthToken {
    if let store = grant.store {
      let stored = try await store.token()
      ledger.withLock { _ = $0.adopt(stored) }
    }
    for _ in 0..<Self.maximumSteps {
      switch ledger.withLock({ $0.step(after: rejected, at: client.client.configuration.now()) }) {
      case .use(let token): return token
      // It may have expired since, or may be the rejected one.
      case .save(let token): try await save(token)
      case .refresh(let token): if let new = try await refresh(token) { return try await save(new) }
      case .obtain: return try await save(try await obtain())
      }
    }
    throw Self.changing
  }

  @discardableResult private func save(_ token: OAuthToken) async throws -> OAuthToken {
    if let store = grant.store {
      try await store.save(token)
      ledger.withLock { $0.saved(token) }
    }
    return token
  }

  /// Refreshes a token; returns `nil` if the store contains another one.
  private func refresh(_ token: OAuthToken) async throws -> OAuthToken? {
    if let error = ledger.withLock({ $0.refusal(of: token) }) { throw error }
    do {
      let new = try await client.refresh(token)
      ledger.withLock { $0.received(new, needsSaving: grant.store != nil) }
      return new
    } catch {
      let error = ledger.withLock { $0.failed(token.refreshToken, error) }
      guard (error as? HTTPError)?.oauthError?.code == .invalidGrant, let store = grant.store else { throw error }
      // Another process may have used the refresh token first, and saved its successor.
      let stored = try await store.token()
      guard ledger.withLock({ $0.adopt(stored) }) else { throw error }
      return nil
    }
  }

  private func obtain() async throws -> OAuthToken {
    guard case .client(let scope, let parameters) = grant.source else {
      throw HTTPError(.authenticationFailed, "no token can be refreshed: sign in again")
    }
    var new = try await client.clientCredentials(scope: scope, parameters: parameters)
    // A server should not send one (RFC 6749 §4.4.3), and the client does not need it.
    new.refreshToken = nil
    ledger.withLock { $0.received(new, needsSaving: false) }
    return new
  }
}
