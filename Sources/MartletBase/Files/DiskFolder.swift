/// The open folder of a storage; it stays the same if its name changes.
public final class DiskFolder<Errors: FileErrors>: Sendable {
  private let file: OpenFile<Errors>
  /// The subfolders that are known to be folders, and not symbolic links.
  public let checked = Locked<Set<Int>>([])

  public var path: String { file.path }
  public var number: Int32 { file.number }
  /// Whether the name still refers to the folder.
  public var isInPlace: Bool { file.isInPlace }

  private init(_ file: OpenFile<Errors>) { self.file = file }

  /// Opens a folder; `nil` if it does not exist.
  ///
  /// Only the owner may have write permission. Others may read the folder, because it contains only folders that they
  /// cannot open.
  public static func open(_ path: String) throws(Errors.Failure) -> DiskFolder? {
    guard let file = OpenFile<Errors>.at(path, O_RDONLY | O_DIRECTORY) else {
      let code = errno
      if code == ENOENT { return nil }
      if DiskCalls.facts(path)?.isLink == true {
        throw Errors.error("\(DiskCalls.shown(path)) is a symbolic link, which is not followed")
      }
      throw PrivateFile<Errors>.error("cannot be opened", path, code)
    }
    guard let facts = file.facts else { throw PrivateFile<Errors>.error("cannot be examined", path, errno) }
    guard facts.isOwn else { throw PrivateFile<Errors>.foreign(path) }
    guard !facts.isOpenToOthers else {
      throw Errors.error("\(DiskCalls.shown(path)) is a folder that other users can write to; use mode 0700")
    }
    return DiskFolder(file)
  }

  /// The absolute path of a folder, without a trailing slash, with which a symbolic link would be followed.
  public static func path(_ folder: URL) -> String {
    DiskCalls.trimmed(folder.standardizedFileURL.path(percentEncoded: false))
  }

  /// Creates a folder and its missing parents, for their owner only.
  ///
  /// With `calls`, the names are synced to survive a crash.
  public static func make(_ path: String, syncingBy calls: ParentFolderCalls? = nil) throws(Errors.Failure) {
    if DiskCalls.facts(path) != nil { return }
    let parent = DiskCalls.trimmed(DiskCalls.split(path).folder)
    if !parent.isEmpty { try make(parent, syncingBy: calls) }
    let folder: ParentFolder<Errors>? = if let calls { try ParentFolder(of: path, by: calls) } else { nil }
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
      throw PrivateFile<Errors>.error("cannot be created", path, errno)
    }
    try folder?.sync()
  }

  public static func isAbsent(_ path: String) -> Bool { DiskCalls.facts(path) == nil && errno == ENOENT }

  public func error(_ what: String, _ code: Int32) -> Errors.Failure { PrivateFile<Errors>.error(what, path, code) }
}
