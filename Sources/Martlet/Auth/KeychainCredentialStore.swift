#if canImport(Security)
  import Foundation
  import Security

  /// Credentials in the keychain of Apple platforms, as generic passwords of one service.
  ///
  /// They are readable when the device has been unlocked once, and go to no other device.
  public actor KeychainCredentialStore: CredentialStore {
    private let service: String
    private let accessGroup: String?

    /// Takes the part of the keychain with a name.
    ///
    /// - Parameters:
    ///   - service: The name, such as the program's identifier.
    ///   - accessGroup: The group of programs that share it, if there is one.
    public init(service: String, accessGroup: String? = nil) {
      self.service = service
      self.accessGroup = accessGroup
    }

    private func query(_ space: ProtectionSpace?) -> [String: Any] {
      var query: [String: Any] = [
        kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
        kSecUseDataProtectionKeychain as String: true,
      ]
      if let accessGroup { query[kSecAttrAccessGroup as String] = accessGroup }
      if let space { query[kSecAttrAccount as String] = space.description }
      return query
    }

    /// The credential for a protection space, or `nil`.
    ///
    /// - Throws: ``HTTPError/Kind/file`` with the keychain's status.
    public func credential(for space: ProtectionSpace) throws -> Credential? {
      var query = query(space)
      query[kSecReturnData as String] = true
      query[kSecMatchLimit as String] = kSecMatchLimitOne
      var item: CFTypeRef?
      let status = SecItemCopyMatching(query as CFDictionary, &item)
      if status == errSecItemNotFound { return nil }
      try check(status)
      guard let data = item as? Data, let record = try? JSONDecoder().decode(CredentialRecord.self, from: data),
        record.space == space
      else { return nil }
      return record.credential
    }

    /// Stores a credential, or removes it if `nil`.
    ///
    /// - Throws: ``HTTPError/Kind/file`` with the keychain's status.
    public func set(_ credential: Credential?, for space: ProtectionSpace) throws {
      guard let credential else {
        let status = SecItemDelete(query(space) as CFDictionary)
        return status == errSecItemNotFound ? () : try check(status)
      }
      let data = try JSONEncoder().encode(CredentialRecord(credential, for: space))
      let change: [String: Any] = [kSecValueData as String: data]
      let status = SecItemUpdate(query(space) as CFDictionary, change as CFDictionary)
      guard status == errSecItemNotFound else { return try check(status) }
      var item = query(space).merging(change) { $1 }
      item[kSecAttrAccessible as String] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
      try check(SecItemAdd(item as CFDictionary, nil))
    }

    /// Removes all credentials.
    ///
    /// - Throws: ``HTTPError/Kind/file`` with the keychain's status.
    public func removeAll() throws {
      let status = SecItemDelete(query(nil) as CFDictionary)
      if status != errSecItemNotFound { try check(status) }
    }

    private func check(_ status: OSStatus) throws {
      // errSecMissingEntitlement
      let hint = status == -34018 ? ": the program is not signed with an entitlement for this keychain" : ""
      guard status == errSecSuccess else { throw HTTPError(.file, "the keychain says \(status)\(hint)") }
    }
  }

  extension CredentialStore where Self == KeychainCredentialStore {
    /// The keychain.
    ///
    /// - Parameters:
    ///   - service: The name, such as the program's identifier.
    ///   - accessGroup: The group of programs that share it, if there is one.
    /// - Returns: The store.
    public static func keychain(service: String, accessGroup: String? = nil) -> KeychainCredentialStore {
      KeychainCredentialStore(service: service, accessGroup: accessGroup)
    }
  }
#endif
