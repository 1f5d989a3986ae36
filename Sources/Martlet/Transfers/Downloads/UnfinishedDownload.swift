public import MartletBase

/// A partial download.
public struct UnfinishedDownload: Sendable {
  /// The URL of the download.
  ///
  /// Its query may contain secrets.
  public let url: URL
  /// The name of the finished file; `nil` if the server may choose it.
  public let name: String?
  /// The number of bytes that can be resumed.
  public let received: Int64
  /// The expected number of bytes, or `nil` if unknown.
  public let expected: Int64?
  /// The file with the bytes.
  public let partFile: URL

  /// The partial downloads in a folder.
  ///
  /// - Parameter folder: The folder of the destinations, or ``DownloadOptions/partFolder``, without its subfolders.
  /// - Returns: The downloads that can be resumed, by name.
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/fileFailed`` if the folder cannot be read.
  public static func all(in folder: URL) throws -> [UnfinishedDownload] {
    let path = folder.path(percentEncoded: false)
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
      throw HTTPError(.fileFailed, "the folder \(DiskCalls.shown(path)) cannot be read")
    }
    return names.sorted().compactMap { name in
      guard name.utf8.suffix(5).elementsEqual(".part".utf8) else { return nil }
      return UnfinishedDownload(folder.appending(path: name, directoryHint: .notDirectory))
    }
  }

  private init?(_ file: URL) {
    let path = file.path(percentEncoded: false)
    guard let facts = DiskCalls.facts(path), facts.isFile,
      case .found(let record)? = try? PartRecord.read(PartFile.recordPath(of: path)),
      let url = URL(string: record.url)
    else { return nil }
    self.url = url
    name = record.name
    received = record.reliable(size: facts.size, boot: BootID.current).count
    expected = record.length
    partFile = file
  }

  /// Removes the partial file.
  ///
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/fileFailed`` if it cannot be removed.
  public func discard() throws {
    let path = partFile.path(percentEncoded: false)
    try PrivateFile.remove(path)
    try PrivateFile.remove(PartFile.recordPath(of: path))
  }
}

extension HTTPClient {
  /// Resumes a partial download, and finishes it in the folder of its part file.
  ///
  /// - Parameters:
  ///   - unfinished: A result of ``UnfinishedDownload/all(in:)``.
  ///   - options: Options for the download and its request; credentials are not stored with the file.
  ///   - progress: Called at most 20 times a second, and at the end, on any thread; it must return quickly.
  /// - Returns: The file.
  /// - Throws: The errors of `download(_:to:options:progress:)`.
  @discardableResult
  public nonisolated func download(
    continuing unfinished: UnfinishedDownload, options: DownloadOptions = DownloadOptions(),
    progress: (@Sendable (TransferProgress) -> Void)? = nil
  ) async throws -> DownloadedFile {
    let folder = unfinished.partFile.deletingLastPathComponent()
    let destination = unfinished.name.map { folder.appending(path: $0, directoryHint: .notDirectory) } ?? folder
    return try await download(
      .get(RequestTarget(unfinished.url)), to: destination, options: options, progress: progress)
  }
}
