import MartletBase

/// Answers challenges with one credential, or with what a closure returns.
///
/// Made by ``Authenticator/basic(user:password:isSentUnasked:)`` and its like.
public final class CredentialAuthenticator: Authenticator {
  /// Returns the credential for a challenge, or `nil` to give up; what it throws ends the requests that wait for it.
  public typealias Ask = @Sendable (AuthenticationChallenge) async throws -> Credential?

  /// The schemes that are answered.
  public let schemes: [AuthenticationChallenge.Scheme]
  /// The longest wait for the closure.
  public let answerLimit: Duration

  private let credential: Locked<Credential?>
  private let ask: Ask?

  init(_ credential: Credential, schemes: [AuthenticationChallenge.Scheme]? = nil) {
    self.credential = Locked(credential)
    self.schemes = schemes ?? credential.schemes
    answerLimit = .seconds(30)
    ask = nil
  }

  init(
    schemes: [AuthenticationChallenge.Scheme] = [.digest, .bearer, .basic], answerLimit: Duration, _ ask: @escaping Ask
  ) {
    credential = Locked(nil)
    self.schemes = schemes
    self.answerLimit = answerLimit
    self.ask = ask
  }

  /// Whether it answers everybody with the same.
  var isFixed: Bool { ask == nil }

  /// The credential to send preemptively, or `nil`.
  public func unaskedCredential(for space: ProtectionSpace) -> Credential? {
    guard let credential = credential.withLock({ $0 }), credential.isSentUnasked else { return nil }
    // Digest has nothing to send before it knows the server's nonce, and must not become Basic.
    return schemes.contains(credential.token == nil ? .basic : .bearer) ? credential : nil
  }

  /// The credential, unless it was refused, or the closure's answer.
  public func respond(to challenge: AuthenticationChallenge) async throws -> Credential? {
    if let ask { return try await ask(challenge) }
    let credential = credential.withLock { $0 }
    return credential == challenge.rejected ? nil : credential
  }

  /// Forgets the credential: from now on every challenge is left to the caller.
  public func signOut() async { credential.withLock { $0 = nil } }
}

extension CredentialAuthenticator: CustomStringConvertible, CustomReflectable {
  /// The schemes, and nothing of the credential.
  public var description: String { "CredentialAuthenticator(\(schemes.map(\.description).joined(separator: ", ")))" }

  /// A mirror that shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Authenticator where Self == CredentialAuthenticator {
  /// A user and a password, for Digest where a server offers it, else for Basic.
  ///
  /// - Parameters:
  ///   - user: The name.
  ///   - password: The password.
  /// - Returns: The authenticator.
  public static func password(user: String, password: String) -> CredentialAuthenticator {
    CredentialAuthenticator(.user(user, password: password))
  }

  /// A user and a password for Basic only (RFC 7617), as UTF-8.
  ///
  /// - Parameters:
  ///   - user: The name, without a colon.
  ///   - password: The password.
  ///   - isSentUnasked: Whether they are sent before the server asks; `false` by default.
  /// - Returns: The authenticator.
  public static func basic(user: String, password: String, isSentUnasked: Bool = false) -> CredentialAuthenticator {
    CredentialAuthenticator(.user(user, password: password, isSentUnasked: isSentUnasked), schemes: [.basic])
  }

  /// A user and a password for Digest only (RFC 7616): a server that offers only Basic does not get the password.
  ///
  /// - Parameters:
  ///   - user: The name.
  ///   - password: The password.
  /// - Returns: The authenticator.
  public static func digest(user: String, password: String) -> CredentialAuthenticator {
    CredentialAuthenticator(.user(user, password: password), schemes: [.digest])
  }

  /// A token that does not change (RFC 6750), sent with every request.
  ///
  /// - Parameter token: The token.
  /// - Returns: The authenticator.
  public static func bearer(_ token: String) -> CredentialAuthenticator { CredentialAuthenticator(.token(token)) }

  /// An account of a Windows domain, for NTLM (on Linux, with libcurl).
  ///
  /// - Parameters:
  ///   - user: The name, without the domain.
  ///   - password: The password.
  ///   - domain: The domain; may be empty.
  ///   - isAllowedWithoutTLS: Whether a server may be answered over http; `false` by default.
  /// - Returns: The authenticator.
  public static func ntlm(
    user: String, password: String, domain: String, isAllowedWithoutTLS: Bool = false
  ) -> CredentialAuthenticator {
    CredentialAuthenticator(
      .user(user, password: password, domain: domain, isAllowedWithoutTLS: isAllowedWithoutTLS))
  }

  /// The Kerberos ticket of the user of this process, for Negotiate (on Linux, with libcurl).
  ///
  /// - Parameter isAllowedWithoutTLS: Whether a server may be answered over http; `false` by default.
  /// - Returns: The authenticator.
  public static func negotiate(isAllowedWithoutTLS: Bool = false) -> CredentialAuthenticator {
    CredentialAuthenticator(.ticket(isAllowedWithoutTLS: isAllowedWithoutTLS))
  }

  /// Whoever a closure asks, such as the user.
  ///
  /// A credential that is accepted is kept for the following requests, and in
  /// ``HTTPClient/Configuration/credentialStore`` if there is one; the closure is asked again when it is refused.
  ///
  /// - Parameters:
  ///   - schemes: What it has credentials for; Digest, Bearer and Basic by default. Of those that a server offers it is
  ///     asked for the strongest.
  ///   - answerLimit: The longest wait for the closure; 5 minutes by default.
  ///   - ask: Gets the challenge; `nil` gives up.
  /// - Returns: The authenticator.
  public static func ask(
    schemes: [AuthenticationChallenge.Scheme] = [.digest, .bearer, .basic], answerLimit: Duration = .seconds(300),
    _ ask: @escaping CredentialAuthenticator.Ask
  ) -> CredentialAuthenticator {
    CredentialAuthenticator(schemes: schemes, answerLimit: answerLimit, ask)
  }
}
