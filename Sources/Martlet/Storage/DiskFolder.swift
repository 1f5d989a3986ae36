import MartletBase
import Foundation

/// The open folder of a storage; it stays the same if its name changes.
final class DiskFolder: Sendable {
  private let file: OpenFile
  /// The subfolders that are known to be folders, and not symbolic links.
  let checked = Locked<Set<Int>>([])

  var path: String { file.path }
  var number: Int32 { file.number }
  /// Whether the name still refers to the folder.
  var isInPlace: Bool { file.isInPlace }

  private init(_ file: OpenFile) { self.file = file }

  /// Opens a folder; `nil` if it does not exist.
  ///
  /// Only the owner may have write permission. Others may read the folder, because it contains only folders that they
  /// cannot open.
  static func open(_ path: String) throws(HTTPError) -> DiskFolder? {
    guard let file = OpenFile.at(path, O_RDONLY | O_DIRECTORY) else {
      let code = errno
      if code == ENOENT { return nil }
      if DiskCalls.facts(path)?.isLink == true {
        throw HTTPError(.file, "\(DiskCalls.shown(path)) is a symbolic link, which is not followed")
      }
      throw PrivateFile.error("cannot be opened", path, code)
    }
    guard let facts = file.facts else { throw PrivateFile.error("cannot be examined", path, errno) }
    guard facts.isOwn else { throw PrivateFile.foreign(path) }
    guard !facts.isOpenToOthers else {
      throw HTTPError(.file, "\(DiskCalls.shown(path)) is a folder that others may write in (mode 0700 is asked for)")
    }
    return DiskFolder(file)
  }

  /// The absolute path of a folder, without a trailing slash, with which a symbolic link would be followed.
  static func path(_ folder: URL) -> String {
    DiskCalls.trimmed(folder.standardizedFileURL.path(percentEncoded: false))
  }

  /// Creates a folder and its missing parents, for their owner only.
  ///
  /// With `calls`, the names are synced, so that they survive a crash.
  static func make(_ path: String, syncingBy calls: ParentFolder.Calls? = nil) throws(HTTPError) {
    if DiskCalls.facts(path) != nil { return }
    let parent = DiskCalls.trimmed(DiskCalls.split(path).folder)
    if !parent.isEmpty { try make(parent, syncingBy: calls) }
    let folder: ParentFolder? = if let calls { try ParentFolder(of: path, by: calls) } else { nil }
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw PrivateFile.error("cannot be made", path, errno) }
    try folder?.sync()
  }

  static func isAbsent(_ path: String) -> Bool { DiskCalls.facts(path) == nil && errno == ENOENT }

  func error(_ what: String, _ code: Int32) -> HTTPError { PrivateFile.error(what, path, code) }
}
