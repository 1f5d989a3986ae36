import CMartletShim

/// System calls for paths.
extension DiskCalls {
  /// A path, escaped and truncated for messages.
  public static func shown(_ path: String) -> String { Printable.text(path, limit: 300) }

  /// Renames a file if the new name is free; returns 0 or the error number.
  public static func move(_ path: String, to name: String) -> Int32 {
    #if canImport(Darwin)
      // The sandbox of iOS may reject links.
      if renamex_np(path, name, UInt32(RENAME_EXCL)) == 0 { return 0 }
      if errno != ENOTSUP { return errno }
    #endif
    // A link never replaces a file.
    guard link(path, name) == 0 else { return errno }
    unlink(path)
    return 0
  }

  /// The default mode of a new file, by the process's umask and the folder's rules.
  ///
  /// A temporary file is created at the path, which must be free; `nil` if that fails.
  public static func usualMode(_ path: String) -> mode_t? {
    let descriptor = martlet_above_streams(open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666))
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var facts = stat()
    let code = fstat(descriptor, &facts)
    unlink(path)
    return code == 0 ? facts.st_mode & 0o777 : nil
  }

  /// The facts of a path; a symbolic link at its end is not followed.
  public static func facts(_ path: String) -> DiskFacts? { DiskFacts { lstat(path, $0) } }

  /// The facts of a path's target; symbolic links are followed.
  public static func targetFacts(_ path: String) -> DiskFacts? { DiskFacts { stat(path, $0) } }

  /// Sets the time of the last change of contents, name or permissions, in microseconds since 1970.
  public static func targetFacts(_ path: String, changeTime: inout Int64) -> DiskFacts? {
    DiskFacts { facts in
      let code = stat(path, facts)
      changeTime = martlet_change_time(facts)
      return code
    }
  }

  /// The path up to its last slash, and the rest.
  ///
  /// Compares octets, because a character before or after a slash may combine with it.
  public static func split(_ path: String) -> (folder: String, name: String) {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return ("", path) }
    let start = path.utf8.index(after: slash)
    return (String(path[..<start]), String(path[start...]))
  }

  /// The path without a slash at its end, unless it is the root.
  public static func trimmed(_ path: String) -> String {
    let octets = path.utf8
    return octets.count > 1 && octets.last == UInt8(ascii: "/") ? String(Substring(octets.dropLast())) : path
  }

  /// The path of a name in a folder.
  public static func join(_ folder: String, _ name: String) -> String {
    folder.utf8.last == UInt8(ascii: "/") ? folder + name : "\(folder)/\(name)"
  }

  /// The error of a system call.
  public struct Failure: Error {
    public let code: Int32

    public init(code: Int32) { self.code = code }

    public var isAbsence: Bool { code == ENOENT || code == ENOTDIR }
    /// Whether no descriptor or memory is left, which is temporary.
    public var isExhaustion: Bool { code == EMFILE || code == ENFILE || code == ENOMEM }
    public var text: String { String(cString: strerror(code)) }
  }

  /// Reads bytes into new memory; fewer than requested only at the end of the file.
  public static func read(_ descriptor: Int32, at offset: Int64, count: Int) throws(Failure) -> Data {
    guard count > 0 else { return Data() }
    guard let memory = malloc(count) else { throw Failure(code: ENOMEM) }
    let got = fill(UnsafeMutableRawBufferPointer(start: memory, count: count), from: descriptor, at: offset)
    guard got > 0 else {
      free(memory)
      if got < 0 { throw Failure(code: Int32(-got)) }
      return Data()
    }
    // `Data` copies small contents and frees the memory at once, so create it after reading.
    return Data(bytesNoCopy: memory, count: got, deallocator: .free)
  }

  /// Reads a regular file up to a limit, even through symbolic links; `nil` for other files.
  public static func contents(_ path: String, upTo limit: Int) throws(Failure) -> Data? {
    guard !path.utf8.contains(0) else { throw Failure(code: ENOENT) }
    // Opening a pipe would block without `O_NONBLOCK`.
    let descriptor = martlet_above_streams(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY))
    guard descriptor >= 0 else { throw Failure(code: errno) }
    defer { close(descriptor) }
    guard facts(descriptor)?.isFile == true else { return nil }
    var data = Data()
    while data.count < limit {
      let piece = try read(descriptor, at: Int64(data.count), count: min(64 << 10, limit - data.count))
      if piece.isEmpty { break }
      data += piece
    }
    return data
  }
}
