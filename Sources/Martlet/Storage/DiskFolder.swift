import CMartletShim
import MartletBase
import Foundation

/// The open folder of a storage; it stays the same if its name changes.
final class DiskFolder: Sendable {
  let path: String
  private let descriptor: DiskDescriptor
  /// The subfolders that are known to be folders, and not symbolic links.
  let checked = Locked<Set<Int>>([])

  var number: Int32 { descriptor.number }

  private init(_ path: String, _ descriptor: DiskDescriptor) {
    self.path = path
    self.descriptor = descriptor
  }

  /// Opens a folder; `nil` if it does not exist.
  ///
  /// Only the owner may have write permission. Others may read the folder, because it contains only folders that they
  /// cannot open.
  static func open(_ path: String) throws(HTTPError) -> DiskFolder? {
    let number = martlet_above_streams(openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))
    guard number >= 0 else {
      if errno == ENOENT { return nil }
      let code = errno
      var facts = stat()
      if lstat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFLNK {
        throw HTTPError(.file, "\(DiskCalls.shown(path)) is a symbolic link, which is not followed")
      }
      throw PrivateFile.error("cannot be opened", path, code)
    }
    let descriptor = DiskDescriptor(number)
    guard let facts = DiskCalls.facts(number) else { throw PrivateFile.error("cannot be examined", path, errno) }
    guard facts.isOwn else { throw PrivateFile.foreign(path) }
    guard !facts.isOpenToOthers else {
      throw HTTPError(.file, "\(DiskCalls.shown(path)) is a folder that others may write in (mode 0700 is asked for)")
    }
    return DiskFolder(path, descriptor)
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

  /// Whether the name still refers to the folder.
  var isInPlace: Bool {
    guard let named = DiskCalls.facts(path), let own = DiskCalls.facts(number) else { return false }
    return named.inode == own.inode
  }

  static func isAbsent(_ path: String) -> Bool { DiskCalls.facts(path) == nil && errno == ENOENT }

  func error(_ what: String, _ code: Int32) -> HTTPError { PrivateFile.error(what, path, code) }
}
