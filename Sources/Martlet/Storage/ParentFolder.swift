import Foundation

/// The open folder of a name that must survive a crash.
///
/// It is opened before the name is made and synced after that: if it cannot be opened, nothing has changed.
struct ParentFolder {
  /// The system's calls; tests have others.
  struct Calls: Sendable {
    /// Opens a folder; returns its descriptor, or the negative number of the error.
    var open: @Sendable (String) -> Int32
    /// Syncs an open folder; returns 0, or the number of the error.
    var sync: @Sendable (Int32) -> Int32

    static let system = Calls(
      open: { path in
        let descriptor = openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        return descriptor >= 0 ? descriptor : -errno
      },
      sync: { fsync($0) == 0 ? 0 : errno })
  }

  private let path: String
  private let calls: Calls
  private let descriptor: DiskDescriptor?

  /// Opens the folder of a name.
  ///
  /// A folder that may be written but not read (mode 0300) is refused: nothing could be promised of its names. But not
  /// if the name is there already: no process of this user has made it without opening the folder first.
  init(of name: String, isThere: Bool = false, by calls: Calls = .system) throws(HTTPError) {
    path = URL(filePath: name).deletingLastPathComponent().path(percentEncoded: false)
    self.calls = calls
    let number = calls.open(path)
    descriptor = number >= 0 ? DiskDescriptor(number) : nil
    // EPERM: a sandbox may let a program write one file of a folder, and lets nobody in it open the folder.
    guard number >= 0 || number == -EPERM || (isThere && number == -EACCES) else {
      throw PrivateFile.error("cannot be opened, which syncing a name in it needs", path, -number)
    }
  }

  /// Makes sure that the names in it survive a crash; it is an error if the disk fails or is full.
  func sync() throws(HTTPError) {
    guard let descriptor else { return }
    let code = calls.sync(descriptor.number)
    // Some file systems do not let a folder be synced; there is nothing that could be done about it.
    if code == EIO || code == ENOSPC || code == EDQUOT { throw PrivateFile.error("cannot be synced", path, code) }
  }
}
