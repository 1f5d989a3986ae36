import Foundation

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A small file of secrets: mode 0600 from its first moment, replaced as a whole.
enum PrivateFile {
  /// The contents, or `nil` if there is no file.
  ///
  /// - Throws: ``HTTPError`` of kind `file`, also if others than the owner have any right to the file, if it is
  ///   somebody else's, a link or no regular file, or if it is larger than `limit`.
  static func read(_ url: URL, limit: Int) throws -> Data? {
    let path = url.path(percentEncoded: false)
    let file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw failure("cannot be opened", path)
    }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw failure("cannot be opened", path) }
    guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
      throw error("is not a regular file that only its owner has rights to (mode 0600)", path)
    }
    guard status.st_size <= limit else { throw error("is larger than \(limit) bytes", path) }
    var data = Data()
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = buffer.withUnsafeMutableBytes { systemRead(file, $0.baseAddress, $0.count) }
      if count == 0 { return data }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw failure("cannot be read", path) }
      data += buffer.prefix(count)
      guard data.count <= limit else { throw error("is larger than \(limit) bytes", path) }
    }
  }

  /// Writes a new file beside it, and puts that in its place when it is safe on disk.
  static func replace(_ url: URL, with data: Data) throws {
    let path = url.path(percentEncoded: false)
    let folder = url.deletingLastPathComponent()
    do {
      try FileManager.default.createDirectory(
        at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw HTTPError(.file, "the folder of '\(InvalidInput.printable(path))' cannot be made", underlying: error)
    }
    let temporary = "\(path).\(UUID().uuidString)"
    let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure("cannot be written", path) }
    do {
      defer { close(file) }
      try write(data, to: file, path)
      guard fsync(file) == 0, rename(temporary, path) == 0 else { throw failure("cannot be written", path) }
    } catch {
      unlink(temporary)
      throw error
    }
    // The new name is on disk when its folder is; where that cannot be asked for, it is there a little later.
    let directory = open(folder.path(percentEncoded: false), O_RDONLY | O_CLOEXEC)
    if directory >= 0 {
      fsync(directory)
      close(directory)
    }
  }

  /// Removes it, if it is there.
  static func remove(_ url: URL) throws {
    let path = url.path(percentEncoded: false)
    guard unlink(path) == 0 || errno == ENOENT else { throw failure("cannot be removed", path) }
  }

  private static func write(_ data: Data, to file: Int32, _ path: String) throws {
    var rest = Array(data)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { systemWrite(file, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw failure("cannot be written", path) }
      rest = rest.dropFirst(count)
    }
  }

  /// With the reason that the system gave.
  private static func failure(_ what: String, _ path: String) -> HTTPError {
    let reason = String(cString: strerror(errno))
    return error("\(what): \(reason)", path)
  }

  private static func error(_ what: String, _ path: String) -> HTTPError {
    HTTPError(.file, "the file '\(InvalidInput.printable(path))' \(what)")
  }

  private static func systemRead(_ file: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    #if canImport(Darwin)
      Darwin.read(file, buffer, count)
    #elseif canImport(Glibc)
      Glibc.read(file, buffer, count)
    #else
      Musl.read(file, buffer, count)
    #endif
  }

  private static func systemWrite(_ file: Int32, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
    #if canImport(Darwin)
      Darwin.write(file, buffer, count)
    #elseif canImport(Glibc)
      Glibc.write(file, buffer, count)
    #else
      Musl.write(file, buffer, count)
    #endif
  }
}
