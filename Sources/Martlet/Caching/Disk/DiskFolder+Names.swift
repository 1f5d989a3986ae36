import CMartletShim
import MartletBase

/// The files of a cache within its folder.
extension DiskFolder {
  /// Opens a file; symbolic links are rejected, and opening a pipe does not block.
  func open(_ name: DiskName, body: UInt64? = nil) throws(DiskCalls.Failure) -> DiskDescriptor {
    let folder = name.folder
    if !checked.withLock({ $0.contains(folder) }) {
      guard let facts = DiskCalls.facts(DiskName.folderName(folder), in: number), facts.isFolder, facts.isOwn else {
        throw DiskCalls.Failure(code: ENOENT)
      }
      _ = checked.withLock { $0.insert(folder) }
    }
    let opened = martlet_above_streams(
      openat(number, name.path(body: body), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK))
    guard opened >= 0 else { throw DiskCalls.Failure(code: errno) }
    return DiskDescriptor(opened)
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
    guard code == 0 || code == EEXIST else { throw error("cannot store a folder", code) }
    guard let opened = openFolder(folder) else { throw error("cannot store a folder", errno) }
    return opened
  }

  /// Calls a closure with each file in a subfolder: its name, and the meaning of the name.
  ///
  /// Files with foreign names are left alone.
  func eachFile(
    in part: Int, _ body: (_ file: UnsafePointer<CChar>, _ inner: Int32, _ name: DiskName, _ body: UInt64?) -> Void
  ) {
    guard let inner = openFolder(part) else { return }
    DiskCalls.eachName(in: inner.number) { file in
      if let (name, number) = DiskName.read(file) { body(file, inner.number, name, number) }
    }
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
