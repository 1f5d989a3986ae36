/// Storage for credentials that outlives a client.
///
/// The store is consulted when a server sends a challenge, before the ``Authenticator`` for the origin. It receives
/// each accepted credential that the authenticator provided, and each new token. Credentials set in code (`.basic(…)`,
/// a URL, an option) are not stored.
public protocol CredentialStore: Sendable {
  /// The credential for a protection space, or `nil`.
  ///
  /// - Parameter space: The protection space.
  /// - Returns: The credential, or `nil` if there is none.
  /// - Throws: Any error; the request then fails with ``HTTPError/Kind/authenticationFailed`` and this underlying
  ///   error.
  func credential(for space: ProtectionSpace) async throws -> Credential?

  /// Stores a credential, or removes it if `nil`.
  ///
  /// - Parameters:
  ///   - credential: The credential; `nil` removes the stored one.
  ///   - space: The protection space.
  /// - Throws: Any error. Failing to store an accepted credential or a new token does not fail the request; it is
  ///   reported as ``RequestEvent/credentialNotStored(_:)``.
  func set(_ credential: Credential?, for space: ProtectionSpace) async throws

  /// Removes all credentials.
  ///
  /// - Throws: Any error; ``HTTPClient/signOut()`` rethrows it.
  func removeAll() async throws
}

extension Authenticators {
  /// Credentials in memory, shared by the clients that use the same store.
  public actor MemoryCredentialStore: CredentialStore {
    private var credentials: [ProtectionSpace: Credential] = [:]

    /// Creates an empty store.
    public init() {}

    /// The credential for a protection space, or `nil`.
    public func credential(for space: ProtectionSpace) -> Credential? { credentials[space] }

    /// Stores a credential, or removes it if `nil`.
    public func set(_ credential: Credential?, for space: ProtectionSpace) { credentials[space] = credential }

    /// Removes all credentials.
    public func removeAll() { credentials = [:] }
  }
}

extension CredentialStore where Self == Authenticators.MemoryCredentialStore {
  /// A new in-memory store.
  public static var memory: Authenticators.MemoryCredentialStore { Self() }
}
