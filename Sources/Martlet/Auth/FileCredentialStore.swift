public import MartletBase

extension Authenticators {
  /// Credentials in a file that only its owner can read (mode 0600).
  ///
  /// The file is JSON and not encrypted: the user and root can read it. It is replaced atomically, and read for each
  /// request for a credential, so one process sees the changes of another.
  ///
  /// Processes can share the file. A change waits up to 10 seconds for the lock, a file with the same name and `.lock`,
  /// which is not removed. Changes take effect in the order of the calls.
  public actor FileCredentialStore: CredentialStore {
    private static let maximumBytes = 4 << 20

    private let url: URL
    /// How many milliseconds to wait for the lock.
    private let patience: Int
    /// The serial queue for the file, which keeps the order of the calls.
    ///
    /// Files and locks block, so they must not be used on the cooperative thread pool.
    private let executor = FileExecutor(label: "Martlet.FileCredentialStore")

    /// The executor of the actor: a serial queue, whose thread may wait for the file.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Creates a store in a file, which need not exist.
    ///
    /// - Parameter url: A file URL. Its folder is created with mode 0700 if it does not exist.
    public init(_ url: URL) { self.init(url, patience: 10_000) }

    init(_ url: URL, patience: Int) {
      self.url = url
      self.patience = patience
    }

    /// The credential for a protection space, or `nil`.
    ///
    /// - Throws: ``HTTPError/Kind/fileFailed`` if the file cannot be read, is not a credential file, or can be read by
    ///   others.
    public func credential(for space: ProtectionSpace) throws -> Credential? {
      try records().first { $0.space == space }?.credential
    }

    /// Stores a credential, or removes it if `nil`.
    ///
    /// - Throws: ``HTTPError/Kind/fileFailed``, for example if another process holds the lock.
    public func set(_ credential: Credential?, for space: ProtectionSpace) throws {
      try DiskFolder.make(DiskCalls.trimmed(DiskCalls.split(DiskFolder.path(url)).folder), syncingBy: .system)
      let lock = try FileLock(path + ".lock", patience: patience)
      defer { lock.release() }
      try removeUnfinished()
      var records = try records()
      let had = records.count
      records.removeAll { $0.space == space }
      if let credential {
        records.append(CredentialRecord(credential, for: space))
      } else if records.count == had {
        return
      }
      try PrivateFile.replace(path, withJSON: records)
    }

    /// Removes the file.
    ///
    /// - Throws: ``HTTPError/Kind/fileFailed`` if it exists but cannot be removed, or another process holds the lock.
    public func removeAll() throws {
      guard [path, newPath].contains(where: { DiskCalls.facts($0) != nil }) else { return }
      let lock = try FileLock(path + ".lock", patience: patience)
      defer { lock.release() }
      try removeUnfinished()
      try PrivateFile.remove(path)
    }

    private var path: String { url.path(percentEncoded: false) }

    /// The temporary name of the file; only the holder of the lock uses it.
    private var newPath: String { path + ".new" }

    /// Removes the unfinished file of a process that was killed.
    private func removeUnfinished() throws { try PrivateFile.remove(newPath) }

    private func records() throws -> [CredentialRecord] {
      guard let data = try PrivateFile.read(path, limit: Self.maximumBytes, isSecret: true) else { return [] }
      do {
        return try JSONDecoder().decode([CredentialRecord].self, from: data)
      } catch {
        // The decoder's message may quote the file's contents.
        throw HTTPError(.fileFailed, "the credential file '\(InvalidInput.printable(url.path))' is damaged")
      }
    }
  }
}

extension CredentialStore where Self == Authenticators.FileCredentialStore {
  /// A file that only its owner can read.
  ///
  /// - Parameter url: A file URL.
  /// - Returns: The store.
  public static func file(_ url: URL) -> Authenticators.FileCredentialStore { Self(url) }
}
