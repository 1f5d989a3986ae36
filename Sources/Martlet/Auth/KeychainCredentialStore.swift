#if canImport(Security)
  import Foundation
  import Security

  /// Credential storage in the keychain of Apple platforms.
  ///
  /// Credentials are generic passwords of one service. They are readable after the device was first unlocked, and never
  /// migrate to another device.
  public actor KeychainCredentialStore: CredentialStore {
    private let service: String
    private let accessGroup: String?

    /// Creates a store for the keychain items of a service.
    ///
    /// - Parameters:
    ///   - service: The service name, such as the program's identifier.
    ///   - accessGroup: The access group of the programs that share the items; `nil`, the default, for none.
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
    /// - Throws: ``HTTPError/Kind/fileFailed`` with the keychain's status.
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
    /// - Throws: ``HTTPError/Kind/fileFailed`` with the keychain's status.
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
    /// - Throws: ``HTTPError/Kind/fileFailed`` with the keychain's status.
    public func removeAll() throws {
      let status = SecItemDelete(query(nil) as CFDictionary)
      if status != errSecItemNotFound { try check(status) }
    }

    private func check(_ status: OSStatus) throws {
      // errSecMissingEntitlement
      let hint = status == -34018 ? ": the program is not signed with an entitlement for this keychain" : ""
      guard status == errSecSuccess else {
        throw HTTPError(.fileFailed, "the keychain failed with status \(status)\(hint)")
      }
    }
  }

  extension CredentialStore where Self == KeychainCredentialStore {
    /// A credential store in the keychain.
    ///
    /// - Parameters:
    ///   - service: The service name, such as the program's identifier.
    ///   - accessGroup: The access group of the programs that share the items; `nil`, the default, for none.
    /// - Returns: The store.
    public static func keychain(service: String, accessGroup: String? = nil) -> KeychainCredentialStore {
      KeychainCredentialStore(service: service, accessGroup: accessGroup)
    }
  }
#endif
