import MartletBase

/// System calls for downloads and outboxes.
extension DiskCalls {
  /// Opens a file for reading and writing, or creates it for its owner only.
  ///
  /// Symbolic links are not followed. Without a file, `errno` is set, to `EEXIST` if another process created the file
  /// in the meantime.
  static func openPart(_ path: String) -> (file: OpenFile?, isNew: Bool) {
    // Without `O_CREAT`, which some systems reject for other users' files in world-writable folders.
    let file = OpenFile.at(path, O_RDWR)
    if file != nil || errno != ENOENT { return (file, false) }
    return (OpenFile.at(path, O_RDWR | O_CREAT | O_EXCL), true)
  }

  /// The path without symbolic links at its end, whether or not there is a file.
  ///
  /// Throws for a link of another user except root, who could otherwise choose the file.
  static func resolved(_ path: String) throws(HTTPError) -> String {
    var path = path
    for _ in 0..<40 {
      guard let facts = facts(path), facts.isLink else { return path }
      guard facts.isOwn || facts.isOfRoot,
        let next = try? FileManager.default.destinationOfSymbolicLink(atPath: path)
      else { throw PrivateFile.foreign(path) }
      path = next.utf8.first == UInt8(ascii: "/") ? next : split(path).folder + next
    }
    throw PrivateFile.error("cannot be opened", path, ELOOP)
  }
}
