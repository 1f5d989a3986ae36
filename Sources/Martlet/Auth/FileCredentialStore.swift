public import Foundation

/// Credentials in a file that only its owner can read (mode 0600).
///
/// The file is JSON and not encrypted: whoever is the user, or root, can read it. It is replaced as a whole, so that it
/// is always the old one or the new one; processes that write at the same time take turns, with a lock beside it, a file
/// with `.lock` behind the name. It is read for each question, so that one process sees what another has written.
public actor FileCredentialStore: CredentialStore {
  /// The largest file that is read.
  private static let maximumBytes = 4 << 20

  private let url: URL
  /// How long another process may hold the lock, in milliseconds.
  private let patience: Int

  /// Takes a file, which need not exist.
  ///
  /// - Parameter url: A file URL. Its folder is made with mode 0700 if it does not exist.
  public init(_ url: URL) { self.init(url, patience: 2_000) }

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
  /// - Throws: ``HTTPError/Kind/file``, also if another process holds the lock for 2 s.
  public func set(_ credential: Credential?, for space: ProtectionSpace) throws {
    if credential == nil, try self.credential(for: space) == nil { return }
    try makeFolder()
    let lock = try FileLock(lockPath, patience: patience)
    defer { lock.release() }
    var records = try records()
    records.removeAll { $0.space == space }
    if let credential { records.append(CredentialRecord(credential, for: space)) }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    do {
      try PrivateFile.replace(path, with: try encoder.encode(records))
    } catch let error as EncodingError {
      throw HTTPError(.file, "the credentials cannot be encoded", underlying: error)
    }
  }

  /// Removes the file, and what a process that was killed has left of a new one.
  ///
  /// - Throws: ``HTTPError/Kind/file`` if it is there and cannot be removed, or another process holds the lock for 2 s.
  public func removeAll() throws {
    let paths = [path, path + ".new"]
    if paths.allSatisfy(DiskFolder.isAbsent) { return }
    let lock = try FileLock(lockPath, patience: patience)
    defer { lock.release() }
    for path in paths { try PrivateFile.remove(path) }
  }

  private var path: String { url.path(percentEncoded: false) }
  private var lockPath: String { path + ".lock" }

  private func makeFolder() throws {
    do {
      try FileManager.default.createDirectory(
        at: url.deletingLastPathComponent(), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw HTTPError(.file, "the folder of \(PrivateFile.shown(path)) cannot be made", underlying: error)
    }
  }

  private func records() throws -> [CredentialRecord] {
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
