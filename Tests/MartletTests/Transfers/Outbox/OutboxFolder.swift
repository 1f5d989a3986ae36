import Foundation
import TestSupport

@testable import Martlet

/// A folder for an outbox, which is not there yet, and is removed with its last reference.
final class OutboxFolder {
  private let folder: TemporaryFolder
  let url: URL

  init() throws {
    folder = try TemporaryFolder()
    url = folder.url.appending(path: "outbox", directoryHint: .isDirectory)
  }

  var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).filter { $0 != "lock" && $0 != "lease" }
      .sorted()
  }

  var journal: URL { url.appending(path: "journal") }

  func journalBytes() throws -> [UInt8] { Array(try Data(contentsOf: journal)) }

  /// Overwrites the journal in its place, as a fault of the disk does.
  func overwrite(_ bytes: [UInt8]) throws {
    let handle = try FileHandle(forWritingTo: journal)
    try handle.truncate(atOffset: 0)
    try handle.write(contentsOf: bytes)
    try handle.close()
  }
}
