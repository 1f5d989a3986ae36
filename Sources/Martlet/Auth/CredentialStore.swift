/// Storage for credentials that outlives a client.
///
/// Asked when a server asks, before the ``Authenticator`` of the place; told what was accepted after the authenticator
/// was asked, and every new token. Credentials that the program has said itself (`.basic(…)`, a URL, an option) are not
/// put into it.
public protocol CredentialStore: Sendable {
  /// The credential for a protection space, or `nil`.
  ///
  /// - Parameter space: The space.
  /// - Returns: The credential, or `nil` if there is none.
  /// - Throws: Any error; the request then fails with ``HTTPError/Kind/authenticationFailed`` and this underneath.
  func credential(for space: ProtectionSpace) async throws -> Credential?

  /// Stores a credential, or removes it if `nil`.
  ///
  /// - Parameters:
  ///   - credential: The credential; `nil` forgets the one that is there.
  ///   - space: The space.
  /// - Throws: Any error; that of a credential that was accepted, or of a new token, costs no response and is told as
  ///   ``RequestEvent/credentialNotStored(_:)``.
  func set(_ credential: Credential?, for space: ProtectionSpace) async throws

  /// Removes all credentials.
  ///
  /// - Throws: Any error, which ``HTTPClient/signOut()`` passes on.
  func removeAll() async throws
}

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

extension CredentialStore where Self == MemoryCredentialStore {
  /// A new store in memory.
  public static var memory: MemoryCredentialStore { MemoryCredentialStore() }
}
