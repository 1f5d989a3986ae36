public import Foundation

/// Credentials in a file that only its owner can read (mode 0600).
///
/// The file is JSON and not encrypted: whoever is the user, or root, can read it. It is replaced as a whole, so that it
/// is always the old one or the new one. Processes that write at the same time wait for each other, for up to 10 seconds,
/// by a lock on a file beside it with the name and `.lock`. It is read for each question, so that one process sees what
/// another has written.
public actor FileCredentialStore: CredentialStore {
  /// The largest file that is read.
  private static let maximumBytes = 4 << 20

  private let url: URL
  /// How many milliseconds to wait for another process.
  private let patience: Int

  /// Takes a file, which need not exist.
  ///
  /// - Parameter url: A file URL. Its folder is made with mode 0700 if it does not exist.
  public init(_ url: URL) {
    self.url = url
    patience = 10_000
  }

  init(_ url: URL, patience: Int) {
    self.url = url
    self.patience = patience
  }

  /// The credential of a space.
  ///
  /// - Throws: ``HTTPError/Kind/file`` if the file cannot be read, is not one of ours, or can be read by others.
  public func credential(for space: ProtectionSpace) throws -> Credential? {
    try records().first { $0.space == space }?.credential
  }

  /// Keeps a credential, or forgets it.
  ///
  /// - Throws: ``HTTPError/Kind/file``.
  public func set(_ credential: Credential?, for space: ProtectionSpace) async throws {
    try await locked { [self] () throws(HTTPError) in
      var records = try records()
      let had = records.count
      records.removeAll { $0.space == space }
      if let credential {
        records.append(CredentialRecord(credential, for: space))
      } else if records.count == had {
        return
      }
      try write(records)
    }
  }

  /// Changes the file while no other process does.
  private nonisolated func locked(_ change: @escaping @Sendable () throws(HTTPError) -> Void) async throws(HTTPError) {
    try await onFileQueue { [self] () throws(HTTPError) in
      try makeFolder()
      let lock = try FileLock(path + ".lock", patience: patience)
      defer { lock.release() }
      try change()
    }
  }

  /// Writes the file; only for who holds the lock.
  private nonisolated func write(_ records: [CredentialRecord]) throws(HTTPError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let data: Data
    do {
      data = try encoder.encode(records)
    } catch {
      throw HTTPError(.file, "the credentials cannot be encoded", underlying: error)
    }
    try PrivateFile.replace(path, with: data)
  }

  /// Removes the file.
  ///
  /// - Throws: ``HTTPError/Kind/file`` if it is there and cannot be removed.
  public func removeAll() async throws {
    guard DiskCalls.facts(path) != nil || DiskCalls.facts(path + ".new") != nil else { return }
    try await locked { [self] () throws(HTTPError) in
      // Of a process that was killed while it wrote.
      try PrivateFile.remove(path + ".new")
      try PrivateFile.remove(path)
    }
  }

  private nonisolated var path: String { url.path(percentEncoded: false) }

  private nonisolated func makeFolder() throws(HTTPError) {
    do {
      try FileManager.default.createDirectory(
        at: url.deletingLastPathComponent(), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw HTTPError(.file, "the folder of \(PrivateFile.shown(path)) cannot be made", underlying: error)
    }
  }

  private nonisolated func records() throws(HTTPError) -> [CredentialRecord] {
    guard let data = try PrivateFile.read(path, limit: Self.maximumBytes, isSecret: true) else { return [] }
    do {
      return try JSONDecoder().decode([CredentialRecord].self, from: data)
    } catch {
      // Without the decoder's words: they may quote what is in the file.
      throw HTTPError(.file, "the credential file '\(InvalidInput.printable(url.path))' is damaged")
    }
  }
}

extension CredentialStore where Self == FileCredentialStore {
  /// A file that only its owner can read.
  ///
  /// - Parameter url: A file URL.
  /// - Returns: The store.
  public static func file(_ url: URL) -> FileCredentialStore { FileCredentialStore(url) }
}
