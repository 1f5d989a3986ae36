import Foundation
import TestSupport

@testable import Martlet
@testable import MartletOutbox

/// The folder of an outbox, which does not exist at first; removed with its last reference.
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

  /// Overwrites the journal in place, like a disk fault.
  func overwrite(_ bytes: [UInt8]) throws {
    let handle = try FileHandle(forWritingTo: journal)
    try handle.truncate(atOffset: 0)
    try handle.write(contentsOf: bytes)
    try handle.close()
  }
}

extension OutboxLine {
  /// The length of an empty journal.
  static let headLength = (try? OutboxLine(.began(version: 1)).bytes.count) ?? 0

  /// Creates a submission.
  static func sample(
    _ body: Data?, id: UUID = UUID(), key: String? = nil, url: String = "https://api.test/", headers: HTTPHeaders = [:],
    bodyLength: Int64? = nil, at date: Date = Date(timeIntervalSince1970: 5)
  ) throws -> OutboxLine {
    try OutboxLine(
      .submitted(OutboxEntry(id: id, key: key, host: "https://api.test", bodyLength: bodyLength, submittedAt: date)),
      OutboxContents(method: "POST", url: url, headers: headers, body: body))
  }

  /// Parses the line as if it were read from a journal.
  func reread() -> OutboxLine? { OutboxLine(bytes.dropFirst().dropLast()) }
}
