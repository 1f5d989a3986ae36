import MartletBase

/// The part file of a download, and the name of the finished file.
struct DownloadDestination: Sendable {
  let partPath: String
  /// The path of the finished file, or `nil` if the response influences its name.
  let path: String?
  /// The folder of the finished file.
  let folder: String
  let overwrite: DownloadOptions.Overwrite
  /// Whether a later download can find a remaining part file.
  let isFindable: Bool

  /// The maximum length of a name in bytes, with room for the suffixes of a part file.
  private static let longestName = SafeFilename.maximumBytes - ".part.json.new".utf8.count

  /// Checks that a file can be created at the destination or, if that is a folder, in it.
  ///
  /// Without a destination, the file is in the temporary folder.
  init(_ destination: URL?, of url: AbsoluteURL, _ options: DownloadOptions) throws(HTTPError) {
    let destination = destination?.standardizedFileURL
    if let destination, !destination.isFileURL {
      let shown = URLRedaction.printable(destination.absoluteString)
      throw HTTPError(.invalidRequest, "a download needs a file URL for its destination, not '\(shown)'")
    }
    let temporary = FileManager.default.temporaryDirectory
    let target = destination ?? temporary
    let named = Self.path(target)
    let facts = DiskCalls.targetFacts(named)
    let isFolder = destination == nil || target.hasDirectoryPath || facts?.isFolder == true
    if let facts, !isFolder, !facts.isFile {
      throw HTTPError(.fileFailed, "\(DiskCalls.shown(named)) is not a plain file")
    }
    // A symbolic link is kept, and its target is replaced.
    let targetPath = isFolder ? named : try DiskCalls.resolved(named)
    let (parent, last) = DiskCalls.split(targetPath)
    folder = isFolder ? named : DiskCalls.trimmed(parent)
    isFindable = destination != nil
    path = isFolder ? nil : targetPath
    overwrite = options.overwrite ?? (isFolder ? .rename : .replace)
    try Self.check(self.folder)
    // Opened once before anything is sent, because the name of the finished file will be synced.
    _ = try ParentFolder(of: DiskCalls.join(self.folder, "a"))
    guard isFolder || last.utf8.count <= SafeFilename.maximumBytes else {
      throw HTTPError(
        .fileFailed,
        "\(DiskCalls.shown(last)) has \(last.utf8.count) bytes; a name has at most \(SafeFilename.maximumBytes)")
    }
    if facts != nil, !isFolder, overwrite == .fail {
      throw HTTPError(.fileFailed, "\(DiskCalls.shown(named)) already exists")
    }
    let partFolder = options.partFolder.map { Self.path($0.standardizedFileURL) } ?? self.folder
    if options.partFolder != nil {
      try Self.check(partFolder)
      guard DiskCalls.targetFacts(partFolder)?.device == DiskCalls.targetFacts(self.folder)?.device else {
        throw HTTPError(
          .fileFailed,
          "\(DiskCalls.shown(partFolder)) and \(DiskCalls.shown(self.folder)) are on different file systems")
      }
    }
    let name: String
    if destination == nil {
      name = "martlet-\(UUID().uuidString)"
    } else if isFolder {
      // The server determines the name; until then the URL distinguishes one download from another.
      let last = SafeFilename.make(of: String(url.path.split(separator: "/").last ?? "")) ?? "download"
      name = "\(SafeFilename.cut(last, to: 100))-\(Self.fingerprint(of: url.requestString))"
    } else if last.utf8.count <= Self.longestName {
      name = last
    } else {
      let fingerprint = Self.fingerprint(of: last)
      name = "\(SafeFilename.cut(last, to: Self.longestName - 1 - fingerprint.utf8.count))-\(fingerprint)"
    }
    partPath = DiskCalls.join(partFolder, name + ".part")
  }

  func name(for response: HTTPResponse?) -> String {
    if let path { return path }
    let name = response?.suggestedFilename ?? "download"
    return DiskCalls.join(folder, isFindable ? name : "\(UUID().uuidString)-\(SafeFilename.cut(name, to: 150))")
  }

  /// The numbered name to try if the first one is taken, such as `a (1).txt`.
  static func numbered(_ path: String, _ number: Int) -> String {
    let (folder, name) = DiskCalls.split(path)
    return folder + SafeFilename.numbered(name, number)
  }

  private static func check(_ folder: String) throws(HTTPError) {
    guard DiskCalls.targetFacts(folder)?.isFolder == true else {
      throw HTTPError(.fileFailed, "the folder \(DiskCalls.shown(folder)) does not exist")
    }
    guard FileManager.default.isWritableFile(atPath: folder) else {
      throw HTTPError(.fileFailed, "the folder \(DiskCalls.shown(folder)) cannot be written")
    }
  }

  private static func path(_ url: URL) -> String {
    DiskCalls.trimmed(url.path(percentEncoded: false))
  }

  private static func fingerprint(of text: String) -> String {
    SHA2.sha256(Array(text.utf8)).prefix(4).hexadecimal
  }
}
