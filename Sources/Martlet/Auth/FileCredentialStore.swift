public import Foundation

/// Credentials in a file that only its owner can read (mode 0600).
///
/// The file is JSON and not encrypted: whoever is the user, or root, can read it. It is replaced as a whole, so that it
/// is always the old one or the new one; of two processes that write at the same time the last one wins. It is read for
/// each question, so that one process sees what another has written.
public actor FileCredentialStore: CredentialStore {
  /// The largest file that is read.
  private static let maximumBytes = 4 << 20

  private let url: URL

  /// Takes a file, which need not exist.
  ///
  /// - Parameter url: A file URL. Its folder is made with mode 0700 if it does not exist.
  public init(_ url: URL) { self.url = url }

  /// The credential of a space.
  ///
  /// - Throws: ``HTTPError/Kind/file`` if the file cannot be read, is not one of ours, or can be read by others.
  public func credential(for space: ProtectionSpace) throws -> Credential? {
    try records().first { $0.space == space }?.credential
  }

  /// Keeps a credential, or forgets it.
  ///
  /// - Throws: ``HTTPError/Kind/file``.
  public func set(_ credential: Credential?, for space: ProtectionSpace) throws {
    var records = try records()
    let had = records.count
    records.removeAll { $0.space == space }
    if let credential {
      records.append(CredentialRecord(credential, for: space))
    } else if records.count == had {
      return
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    do {
      let data = try encoder.encode(records)
      try makeFolder()
      // A name of its own, because there is no lock.
      try PrivateFile.replace(path, with: data, by: "\(path).\(UUID().uuidString)")
    } catch let error as EncodingError {
      throw HTTPError(.file, "the credentials cannot be encoded", underlying: error)
    }
  }

  /// Removes the file.
  ///
  /// - Throws: ``HTTPError/Kind/file`` if it is there and cannot be removed.
  public func removeAll() throws { try PrivateFile.remove(path) }

  private var path: String { url.path(percentEncoded: false) }

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
