import MartletBase

extension Authenticators {
  /// Answers challenges with a fixed credential, or with the result of a closure.
  ///
  /// Created by ``Authenticator/basic(user:password:isPreemptive:)`` and similar methods.
  public final class CredentialAuthenticator: Authenticator {
    /// Returns the credential for a challenge, or `nil` to give up.
    ///
    /// An error that it throws fails the waiting requests.
    public typealias CredentialProvider = @Sendable (AuthenticationChallenge) async throws -> Credential?

    /// The supported schemes.
    public let schemes: [AuthenticationScheme]
    /// The longest wait for the closure.
    public let timeout: Duration

    private let credential: Locked<Credential?>
    private let ask: CredentialProvider?

    init(
      _ credential: Credential? = nil, schemes: [AuthenticationScheme]? = nil, timeout: Duration = .seconds(30),
      _ ask: CredentialProvider? = nil
    ) {
      self.credential = Locked(credential)
      self.schemes = schemes ?? credential?.schemes ?? [.digest, .bearer, .basic]
      self.timeout = timeout
      self.ask = ask
    }

    var isFixed: Bool { ask == nil }

    /// The credential to send preemptively, or `nil`.
    public func preemptiveCredential(for space: ProtectionSpace) -> Credential? {
      guard let credential = credential.withLock({ $0 }), credential.isPreemptive else { return nil }
      // Digest needs the server's nonce first, and must not become Basic.
      return schemes.contains(credential.token == nil ? .basic : .bearer) ? credential : nil
    }

    /// Returns the credential, unless it was rejected, or the closure's result.
    public func respond(to challenge: AuthenticationChallenge) async throws -> Credential? {
      if let ask { return try await ask(challenge) }
      let credential = credential.withLock { $0 }
      return credential == challenge.rejected ? nil : credential
    }

    /// Discards the fixed credential; later 401 responses are delivered to the caller.
    public func signOut() async { credential.withLock { $0 = nil } }
  }
}

extension Authenticators.CredentialAuthenticator: CustomStringConvertible, CustomReflectable {
  /// The supported schemes, without the credential.
  public var description: String { "CredentialAuthenticator(\(schemes.map(\.description).joined(separator: ", ")))" }

  /// A mirror that shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Authenticator where Self == Authenticators.CredentialAuthenticator {
  /// A user name and a password, for Digest where a server offers it, otherwise for Basic.
  ///
  /// - Parameters:
  ///   - user: The user name.
  ///   - password: The password.
  /// - Returns: The authenticator.
  public static func password(user: String, password: String) -> Authenticators.CredentialAuthenticator {
    Self(.user(user, password: password))
  }

  /// A user name and a password for Basic only (RFC 7617), encoded as UTF-8.
  ///
  /// - Parameters:
  ///   - user: The user name, without a colon.
  ///   - password: The password.
  ///   - isPreemptive: Whether they are sent before a challenge; `false` by default.
  /// - Returns: The authenticator.
  public static func basic(user: String, password: String, isPreemptive: Bool = false)
    -> Authenticators.CredentialAuthenticator
  {
    Self(.user(user, password: password, isPreemptive: isPreemptive), schemes: [.basic])
  }

  /// A user name and a password for Digest only (RFC 7616).
  ///
  /// A server that offers only Basic never receives the password.
  ///
  /// - Parameters:
  ///   - user: The user name.
  ///   - password: The password.
  /// - Returns: The authenticator.
  public static func digest(user: String, password: String) -> Authenticators.CredentialAuthenticator {
    Self(.user(user, password: password), schemes: [.digest])
  }

  /// A fixed token (RFC 6750), sent with every request.
  ///
  /// - Parameter token: The token.
  /// - Returns: The authenticator.
  public static func bearer(_ token: String) -> Authenticators.CredentialAuthenticator { Self(.token(token)) }

  /// A Windows domain account, for NTLM (on Linux, with libcurl).
  ///
  /// - Parameters:
  ///   - user: The user name, without the domain.
  ///   - password: The password.
  ///   - domain: The domain; may be empty.
  ///   - isAllowedWithoutTLS: Whether to authenticate to a server over http; `false` by default.
  /// - Returns: The authenticator.
  public static func ntlm(
    user: String, password: String, domain: String, isAllowedWithoutTLS: Bool = false
  ) -> Authenticators.CredentialAuthenticator {
    Self(
      .user(user, password: password, domain: domain, isAllowedWithoutTLS: isAllowedWithoutTLS))
  }

  /// The Kerberos ticket of the process's user, for Negotiate (on Linux, with libcurl).
  ///
  /// - Parameter isAllowedWithoutTLS: Whether to authenticate to a server over http; `false` by default.
  /// - Returns: The authenticator.
  public static func negotiate(isAllowedWithoutTLS: Bool = false) -> Authenticators.CredentialAuthenticator {
    Self(.ticket(isAllowedWithoutTLS: isAllowedWithoutTLS))
  }

  /// An authenticator that asks a closure, such as one that prompts the user.
  ///
  /// An accepted credential is kept for the following requests, and in ``HTTPClient/Configuration/credentialStore`` if
  /// one is set. The closure is called again when the credential is rejected.
  ///
  /// - Parameters:
  ///   - schemes: The supported schemes; Digest, Bearer and Basic by default. The closure is called for the strongest
  ///     one that a server offers.
  ///   - timeout: The longest wait for the closure; 5 minutes by default.
  ///   - ask: Receives the challenge, and returns the credential, or `nil` to give up.
  /// - Returns: The authenticator.
  public static func ask(
    schemes: [AuthenticationScheme] = [.digest, .bearer, .basic], timeout: Duration = .seconds(300),
    _ ask: @escaping Authenticators.CredentialAuthenticator.CredentialProvider
  ) -> Authenticators.CredentialAuthenticator {
    Self(schemes: schemes, timeout: timeout, ask)
  }
}
