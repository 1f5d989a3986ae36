import CMartletShim
package import MartletBase

/// A file that several processes extend, such as a cassette, and the files beside it.
package enum SharedFile {
  /// The state of a file at a time; another one after each atomic replacement.
  package struct Mark: Sendable, Equatable {
    private let inode: UInt64
    private let size: Int64
    private let time: Int64

    fileprivate init(_ facts: DiskFacts) { (inode, size, time) = (facts.inode, facts.size, facts.time) }
  }

  /// How many milliseconds to wait for other processes.
  private static let patience = 30_000

  /// The state of a file, or `nil` if it does not exist.
  package static func mark(_ path: String) -> Mark? { DiskCalls.targetFacts(path).map { Mark($0) } }

  /// Runs a closure that no other process runs at the same time for a file in the same folder.
  ///
  /// The lock is the folder's, so no lock file remains. The system releases it when its process ends.
  package static func withLock<T>(inFolder folder: String, _ body: () throws -> T) throws -> T {
    guard let file = OpenFile.at("\(folder)/.", O_RDONLY | O_DIRECTORY) else {
      throw PrivateFile.error("cannot be opened", folder, errno)
    }
    defer { file.unlock() }
    // Some file systems, such as NFS, cannot lock folders: other errors are ignored.
    guard file.lock(patience: patience) != EWOULDBLOCK else {
      throw HTTPError(.fileFailed, "another process has held \(DiskCalls.shown(folder)) for \(patience / 1000) s")
    }
    return try body()
  }

  /// The segments of a relative path, or `nil` if it could leave its folder.
  ///
  /// Compares octets: as characters, `..` with a combining accent is not `..`, and neither is `/` with one a slash.
  static func segments(of path: String) -> [String]? {
    let segments = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    let isSafe = segments.allSatisfy { segment in
      !segment.isEmpty && !segment.elementsEqual(".".utf8) && !segment.elementsEqual("..".utf8) && !segment.contains(0)
    }
    return isSafe ? segments.map { String(Substring($0)) } : nil
  }

  /// Why a file beside another one cannot be read.
  package enum Problem: Error {
    /// The path leaves the folder.
    case outside
    /// The path contains a symbolic link.
    case link
    case unreadable
  }

  /// Reads a file by a path that a file contains, relative to a folder.
  ///
  /// Follows no symbolic links below the folder, so another user's file cannot name an arbitrary file.
  package static func contents(of path: String, inFolder folder: String, limit: Int) throws(Problem) -> Data {
    guard let segments = segments(of: path) else { throw .outside }
    guard var file = OpenFile.at("\(folder)/.", O_RDONLY | O_DIRECTORY) else { throw .unreadable }
    for (index, segment) in segments.enumerated() {
      let isLast = index == segments.count - 1
      let flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (isLast ? 0 : O_DIRECTORY)
      let number = martlet_above_streams(openat(file.number, segment, flags))
      guard number >= 0 else {
        // A link in place of a folder is not a folder.
        throw errno == ELOOP || errno == ENOTDIR ? .link : .unreadable
      }
      file = OpenFile(descriptor: DiskDescriptor(number), path: segment)
    }
    guard let facts = file.facts, facts.isFile, facts.size <= Int64(limit),
      let data = try? file.read(at: 0, count: Int(facts.size)), data.count == Int(facts.size)
    else { throw .unreadable }
    return data
  }
}
