import MartletBase
import Foundation
import Martlet
import MartletHAR

/// The files in which this process records.
///
/// Cassettes with the same file, such as those of the cases of a test, extend each other.
enum CassetteArchives {
  /// The maximum size of bodies that are stored in the archive itself.
  private static let maximumBodyBytes = 64 << 10

  private struct Archive {
    var file: HARFile
    var isAnew: Bool
    /// The state of the file when this process read or wrote it last.
    var mark: SharedFile.Mark?
  }

  private static let archives = Locked<[String: Archive]>([:])

  private static func folder(of file: URL) -> URL { file.appendingPathExtension("bodies") }
  private static func path(of file: URL) -> String { file.path(percentEncoded: false) }

  private static var new: HARFile {
    var file = HARFile()
    file.creator = "Martlet"
    return file
  }

  /// Returns the initial entries of a cassette.
  static func open(_ file: URL, _ mode: Cassette.Mode) throws(HTTPError) -> HARFile {
    let path = path(of: file)
    guard mode != .recordAll else {
      archives.withLock { archives in
        if archives[path]?.isAnew != true {
          archives[path] = Archive(file: new, isAnew: true, mark: SharedFile.mark(path))
        }
      }
      return new
    }
    guard FileManager.default.fileExists(atPath: path) else {
      guard mode == .replay else {
        archives.withLock { $0[path] = Archive(file: new, isAnew: false) }
        return new
      }
      throw HTTPError(
        .fileFailed, "cassette '\(path)' does not exist; run the test with MARTLET_CASSETTES=missing to record it")
    }
    let mark = SharedFile.mark(path)
    let read: HARFile
    do {
      read = try HARFile(at: URL(filePath: path))
    } catch {
      throw error as? HTTPError ?? HTTPError(.fileFailed, "cassette '\(path)' cannot be read", underlying: error)
    }
    if mode == .recordMissing {
      archives.withLock { archives in
        // The file also contains the entries recorded by other cassettes of this process.
        archives[path] = Archive(file: read, isAnew: archives[path]?.isAnew ?? false, mark: mark)
      }
    }
    return read
  }

  /// Adds an entry; returns it as stored in the file.
  ///
  /// Keeps the entries that other processes have added. With a new recording it fails instead, because the recording
  /// lacks those entries.
  static func add(_ entry: HAREntry, to file: URL) throws(HTTPError) -> HAREntry {
    let path = path(of: file)
    do {
      return try archives.withLock { archives in
        let folder = file.deletingLastPathComponent()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return try SharedFile.withLock(inFolder: Self.path(of: folder)) {
          var archive = archives[path] ?? Archive(file: new, isAnew: false)
          if let mark = SharedFile.mark(path), mark != archive.mark {
            guard !archive.isAnew else {
              throw HTTPError(
                .fileFailed, "cassette '\(path)' was changed by another process: record to a separate file")
            }
            archive.file = try HARFile(at: URL(filePath: path))
          }
          guard archive.file.creator.hasPrefix("Martlet") else {
            throw HTTPError(
              .fileFailed, "cassette '\(path)' was recorded by another program: record to a separate file")
          }
          var entry = entry
          if archive.isAnew, archive.file.entries.isEmpty {
            try? FileManager.default.removeItem(at: Self.folder(of: file))
          }
          if let body = entry.response.body, body.size > maximumBodyBytes {
            entry.response.body = try writeOut(body, beside: file)
          }
          archive.file.entries.append(entry)
          try archive.file.data().write(to: file, options: .atomic)
          archive.mark = SharedFile.mark(path)
          archives[path] = archive
          return entry
        }
      }
    } catch let error as HTTPError {
      throw error
    } catch {
      throw HTTPError(.fileFailed, "cassette '\(path)' cannot be written: \(error.localizedDescription)")
    }
  }

  /// Writes a body into a separate file named after its digest.
  private static func writeOut(_ body: HAREntry.Body, beside file: URL) throws -> HAREntry.Body {
    let data: Data
    switch body.content {
    case .text(let text): data = Data(text.utf8)
    case .bytes(let bytes): data = bytes
    case .none, .file: return body
    }
    let folder = folder(of: file)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let name = HARKey.name(of: data)
    try data.write(to: folder.appending(path: name), options: .atomic)
    var moved = body
    moved.content = .file("\(folder.lastPathComponent)/\(name)")
    return moved
  }
}
