import CMartletShim
import MartletBase

/// A file while it is written, under a temporary name; releasing it removes the file unless it was renamed.
final class DiskTemporary: Sendable {
  let folder: DiskFolder
  let descriptor: DiskDescriptor
  private let name: String
  private let isNamed = Locked(false)

  init(in folder: DiskFolder) throws(HTTPError) {
    let name = DiskName.temporary(process: UInt64(truncatingIfNeeded: getpid()), number: .random(in: .min ... .max))
    let number = martlet_above_streams(
      openat(folder.number, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600))
    guard number >= 0 else { throw folder.error("cannot be written in", errno) }
    (self.folder, self.name, descriptor) = (folder, name, DiskDescriptor(number))
  }

  deinit {
    if !isNamed.withLock({ $0 }) { unlinkat(folder.number, name, 0) }
  }

  func append(_ bytes: some ContiguousBytes) throws(HTTPError) {
    let code = bytes.withUnsafeBytes { DiskCalls.append($0, to: descriptor.number) }
    guard code == 0 else { throw folder.error("cannot be written in", code) }
  }

  /// Renames the file to its permanent name, atomically replacing a previous file.
  ///
  /// With `isReplacing`, which says that a previous file probably exists, returns the body number of the replaced
  /// record, if it is known.
  @discardableResult
  func settle(_ name: DiskName, body: UInt64? = nil, isReplacing: Bool = false) throws(HTTPError) -> UInt64? {
    let inner = try folder.makeFolder(name.folder)
    // On ext4, renaming over a file first writes the new one to disk; swapping their names does not.
    let file = name.fileName(body: body)
    if isReplacing, DiskCalls.exchange(self.name, in: folder.number, with: file, in: inner.number) {
      isNamed.withLock { $0 = true }
      // The replaced file, which another process may have stored in the last instant.
      let number = martlet_above_streams(
        openat(folder.number, self.name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK))
      defer { DiskCalls.remove(self.name, in: folder.number) }
      return number >= 0 ? DiskRecord.header(DiskDescriptor(number))?.bodyFile : nil
    }
    func rename() -> Int32 { renameat(folder.number, self.name, inner.number, file) == 0 ? 0 : errno }
    var code = rename()
    if [EISDIR, ENOTDIR, ENOTEMPTY, EEXIST].contains(code) {
      // A folder blocks the name of the file.
      DiskCalls.remove(file, in: inner.number)
      code = rename()
    }
    guard code == 0 else { throw folder.error("cannot store a file", code) }
    isNamed.withLock { $0 = true }
    return nil
  }
}
