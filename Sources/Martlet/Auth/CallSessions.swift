import MartletBase

/// The sessions for the credentials of calls.
///
/// Later calls with the same credential reuse what was accepted before.
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
      let session = AuthSession(Authenticators.CredentialAuthenticator(credential.credential), isProxy: isProxy)
      sessions[key] = session
      return session
    }
  }

  /// Discards all sessions; running calls keep theirs.
  func forget() { sessions.withLock { $0 = Table(limit: Self.limit) } }
}
