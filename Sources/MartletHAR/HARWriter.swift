import Martlet
import MartletBase

/// Writes a HAR file whose states on disk are all complete.
///
/// A kill can truncate a write. So entries are written to a copy of the file beside it, which then swaps names with the
/// file. The next entries go to the other file, after the entries that it lacks. Each entry is written twice.
struct HARWriter {
  private static let end = Array("\n]}}\n".utf8)

  let path: String
  private let copyPath: String
  /// Keeps other recorders away from both paths, until the writer is released.
  private let claim: HARClaim
  private var file: OpenFile
  private var copy: OpenFile
  /// The number of bytes before the end, in the file and in the copy.
  private var (fileSize, copySize) = (Int64(0), Int64(0))
  /// The entries that the copy lacks.
  private var missing: [UInt8] = []
  private var isEmpty = true
  /// Whether the file system cannot swap two files; the file is then overwritten in place.
  private var isAlone = false

  /// Replaces a file with one without entries.
  init(at path: String) throws(HTTPError) {
    self.path = path
    copyPath = path + ".part"
    claim = try HARClaim(path, copyPath)
    // The text before the first entry.
    let bytes = Array(HARFile().data().dropLast(Self.end.count - 1))
    file = try Self.made(copyPath, bytes + Self.end)
    guard rename(copyPath, path) == 0 else {
      let code = errno
      unlink(copyPath)
      throw PrivateFile.error("cannot be written", path, code)
    }
    copy = try Self.made(copyPath, bytes + Self.end)
    (fileSize, copySize) = (Int64(bytes.count), Int64(bytes.count))
  }

  /// Removes the copy; nothing is written after that.
  func close() {
    // A recorder of another process may have created its own copy.
    guard !isAlone, copy.isInPlace else { return }
    unlink(copyPath)
  }

  private static func made(_ path: String, _ bytes: [UInt8]) throws(HTTPError) -> OpenFile {
    unlink(path)
    guard let file = OpenFile.at(path, O_WRONLY | O_CREAT | O_EXCL) else {
      throw PrivateFile.error("cannot be created", path, errno)
    }
    do throws(HTTPError) {
      try file.put(bytes, at: 0)
    } catch {
      unlink(path)
      throw error
    }
    return file
  }

  /// Adds entries, each of which begins a line.
  mutating func add(_ entries: [UInt8]) throws(HTTPError) {
    let batch = isEmpty ? entries : [UInt8(ascii: ",")] + entries
    isEmpty = false
    if isAlone {
      try file.put(batch + Self.end, at: fileSize)
      fileSize += Int64(batch.count)
      return
    }
    missing += batch
    try copy.put(missing + Self.end, at: copySize)
    copySize += Int64(missing.count)
    guard DiskCalls.exchange(copyPath, in: AT_FDCWD, with: path, in: AT_FDCWD) else {
      // The file lacks the same entries as the copy.
      try file.put(missing + Self.end, at: fileSize)
      fileSize += Int64(missing.count)
      isAlone = true
      missing = []
      unlink(copyPath)
      return
    }
    swap(&file, &copy)
    swap(&fileSize, &copySize)
    missing = batch
  }
}
