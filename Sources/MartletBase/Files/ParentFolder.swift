import CMartletShim

/// The system calls of ``ParentFolder``; tests replace them.
public struct ParentFolderCalls: Sendable {
  /// Opens a folder; returns its descriptor, or the negative error number.
  public var open: @Sendable (String) -> Int32
  /// Syncs an open folder; returns 0 or the error number.
  public var sync: @Sendable (Int32) -> Int32

  public init(open: @escaping @Sendable (String) -> Int32, sync: @escaping @Sendable (Int32) -> Int32) {
    (self.open, self.sync) = (open, sync)
  }

  public static let system = ParentFolderCalls(
    open: { path in
      let descriptor = martlet_above_streams(openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
      return descriptor >= 0 ? descriptor : -errno
    },
    sync: { DiskCalls.sync($0) })
}

/// The open parent folder of a name that must survive a crash.
///
/// Open it before the name is created, and sync it afterwards. If it cannot be opened, nothing has changed.
public struct ParentFolder<Errors: FileErrors> {
  public typealias Calls = ParentFolderCalls

  private let path: String
  private let calls: Calls
  private let descriptor: DiskDescriptor?

  /// Opens the parent folder of a name.
  ///
  /// A folder without read permission (mode 0300) is rejected, because its names cannot be synced. With `isThere`, it
  /// is accepted: no process of this user created the existing name without opening the folder first.
  public init(of name: String, isThere: Bool = false, by calls: Calls = .system) throws(Errors.Failure) {
    let folder = DiskCalls.split(name).folder
    path = folder.isEmpty ? "." : folder
    self.calls = calls
    let number = calls.open(path)
    descriptor = number >= 0 ? DiskDescriptor(number) : nil
    // EPERM: a sandbox may allow a program to write one file of a folder, but not to open the folder.
    guard number >= 0 || number == -EPERM || (isThere && number == -EACCES) else {
      throw PrivateFile<Errors>.error("cannot be opened, which syncing a name in it needs", path, -number)
    }
  }

  /// Syncs the folder, so its names survive a crash; throws an error if the disk fails or is full.
  public func sync() throws(Errors.Failure) {
    guard let descriptor else { return }
    let code = calls.sync(descriptor.number)
    // Some file systems do not support syncing a folder; their errors are ignored.
    if code == EIO || code == ENOSPC || code == EDQUOT {
      throw PrivateFile<Errors>.error("cannot be synced", path, code)
    }
  }
}
