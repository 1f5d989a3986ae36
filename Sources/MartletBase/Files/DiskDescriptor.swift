import CMartletShim

/// An open descriptor, closed with its last reference.
public final class DiskDescriptor: Sendable {
  public let number: Int32

  public init(_ number: Int32) { self.number = number }

  deinit { close(number) }

  /// Opens a file, or creates it for its owner only; `nil` with `errno`.
  ///
  /// Symbolic links are rejected, and opening a pipe does not block.
  public static func at(_ path: String, _ flags: Int32) -> DiskDescriptor? {
    let number = martlet_above_streams(open(path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600))
    return number >= 0 ? DiskDescriptor(number) : nil
  }
}
