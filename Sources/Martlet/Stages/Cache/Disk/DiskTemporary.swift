import MartletBase
import Foundation

/// A file while it is written: it has a name that nobody looks for, and is gone if it is dropped.
final class DiskTemporary: Sendable {
  let folder: DiskFolder
  let descriptor: DiskDescriptor
  private let name: String
  private let isNamed = Locked(false)

  init(in folder: DiskFolder) throws(HTTPError) {
    let name = DiskName.temporary(process: UInt64(truncatingIfNeeded: getpid()), number: .random(in: .min ... .max))
    let number = openat(folder.number, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
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

  /// Gives the file its name, once; what had it before is gone in the same instant.
  ///
  /// If there probably is a file of that name (`isReplacing`), tells the number of the body of the record that it has
  /// replaced, as far as that is known.
  @discardableResult
  func settle(_ name: DiskName, body: UInt64? = nil, isReplacing: Bool = false) throws(HTTPError) -> UInt64? {
    let inner = try folder.makeFolder(name.folder)
    // On ext4 a file that takes another's name is written down to the disk first; one that changes names with it is not.
    let file = name.fileName(body: body)
    if isReplacing, DiskCalls.exchange(self.name, in: folder.number, with: file, in: inner.number) {
      isNamed.withLock { $0 = true }
      // What it has taken the place of: another process may have put it there in the last instant.
      let number = openat(folder.number, self.name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
      let replaced = number >= 0 ? DiskRecord.header(DiskDescriptor(number)) : nil
      DiskCalls.remove(self.name, in: folder.number)
      return replaced?.bodyFile
    }
    var code = renameat(folder.number, self.name, inner.number, file) == 0 ? 0 : errno
    if code == EISDIR || code == ENOTDIR || code == ENOTEMPTY || code == EEXIST {
      // A folder where a file of ours belongs.
      DiskCalls.remove(file, in: inner.number)
      code = renameat(folder.number, self.name, inner.number, file) == 0 ? 0 : errno
    }
    guard code == 0 else { throw folder.error("cannot take a file", code) }
    isNamed.withLock { $0 = true }
    return nil
  }
}
