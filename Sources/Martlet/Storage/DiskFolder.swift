import CMartletShim
import MartletBase
import Foundation

/// An open descriptor, closed with its last reference.
final class DiskDescriptor: Sendable {
  let number: Int32

  init(_ number: Int32) { self.number = number }

  deinit { close(number) }
}

/// The open folder of a storage; it stays the same if its name changes.
final class DiskFolder: Sendable {
  let path: String
  private let descriptor: DiskDescriptor
  /// The subfolders that are known to be folders, and not symbolic links.
  private let checked = Locked<Set<Int>>([])

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
        throw HTTPError(.file, "\(PrivateFile.shown(path)) is a symbolic link, which is not followed")
      }
      throw PrivateFile.error("cannot be opened", path, code)
    }
    let descriptor = DiskDescriptor(number)
    guard let facts = DiskCalls.facts(number) else { throw PrivateFile.error("cannot be examined", path, errno) }
    guard facts.isOwn else { throw PrivateFile.foreign(path) }
    guard !facts.isOpenToOthers else {
      throw HTTPError(.file, "\(PrivateFile.shown(path)) is a folder that others may write in (mode 0700 is asked for)")
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

  // MARK: Within it

  /// Opens a file; returns the negative error number on failure.
  ///
  /// Symbolic links are rejected, and opening a pipe does not block.
  func openFile(_ name: DiskName, body: UInt64? = nil) -> Int32 {
    let folder = name.folder
    if !checked.withLock({ $0.contains(folder) }) {
      guard let facts = DiskCalls.facts(DiskName.folderName(folder), in: number), facts.isFolder, facts.isOwn else {
        return -ENOENT
      }
      _ = checked.withLock { $0.insert(folder) }
    }
    let opened = martlet_above_streams(
      openat(number, name.path(body: body), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK))
    return opened >= 0 ? opened : -errno
  }

  /// Opens one of the 256 subfolders; `nil` if it does not exist; anything else with its name is removed.
  func openFolder(_ folder: Int) -> DiskDescriptor? {
    let name = DiskName.folderName(folder)
    let opened = martlet_above_streams(openat(number, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))
    if opened >= 0 { return DiskDescriptor(opened) }
    if errno == ELOOP || errno == ENOTDIR { DiskCalls.remove(name, in: number) }
    return nil
  }

  /// Opens one of the 256 subfolders; creates it if it is missing.
  func makeFolder(_ folder: Int) throws(HTTPError) -> DiskDescriptor {
    if let opened = openFolder(folder) { return opened }
    let code = mkdirat(number, DiskName.folderName(folder), 0o700) == 0 ? 0 : errno
    guard code == 0 || code == EEXIST else { throw error("cannot take a folder", code) }
    guard let opened = openFolder(folder) else { throw error("cannot take a folder", errno) }
    return opened
  }

  /// Removes a file, if it exists; returns 0 or the error number.
  @discardableResult
  func remove(_ name: DiskName, body: UInt64? = nil) -> Int32 {
    DiskCalls.remove(name.path(body: body), in: number)
  }

  func facts(_ name: DiskName, body: UInt64? = nil) -> DiskFacts? {
    DiskCalls.facts(name.path(body: body), in: number)
  }
}
