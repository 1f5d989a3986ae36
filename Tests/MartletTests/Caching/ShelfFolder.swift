import Foundation
import TestSupport

@testable import Martlet

/// A folder for shelves, removed with its last reference.
final class ShelfFolder: Sendable {
  private let folder: TemporaryFolder
  var path: String { folder.url.path }

  init() throws { folder = try TemporaryFolder() }

  /// Where the shelves are: a folder that does not exist at first.
  var store: String { path + "/store" }

  /// A shelf there; by default the time is that of the file system, which dates what is being written.
  func shelf(limit: Int64 = 64 << 20, at date: Date = Date()) -> DiskStorage {
    DiskStorage(path: store, limit: limit) { date }
  }

  /// The paths of all files within the store, sorted.
  var files: [String] {
    (FileManager.default.enumerator(atPath: store)?.compactMap { $0 as? String } ?? []).filter {
      $0.utf8.count != 2
    }.sorted()
  }

  func file(_ key: CacheKey) -> String { "\(store)/\(key.digest.prefix(2))/\(key.digest)" }

  /// The file of a large body.
  func body(_ key: CacheKey) -> String? { files.first { $0.contains(key.digest + "-") }.map { "\(store)/\($0)" } }

  static func bytes(_ path: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(filePath: path))) }

  /// Puts bytes into a file as it is, without a new one.
  static func overwrite(_ path: String, _ bytes: [UInt8]) throws {
    let handle = try FileHandle(forWritingTo: URL(filePath: path))
    try handle.truncate(atOffset: 0)
    try handle.write(contentsOf: Data(bytes))
    try handle.close()
  }

  static func attribute(_ path: String, _ name: FileAttributeKey) throws -> Int? {
    (try FileManager.default.attributesOfItem(atPath: path)[name] as? NSNumber)?.intValue
  }

  static func setTime(_ path: String, _ date: Date) throws {
    try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
  }
}

extension CacheKey {
  static func sample(_ name: String) -> CacheKey { CacheKey(url: "https://x.test/\(name)", detail: "anybody") }
}

extension CacheRecord {
  /// A record of which everything that may be absent is there.
  static func sample(_ name: String = "a", body: Data = Data("body".utf8)) -> CacheRecord {
    let entry = CacheEntry(
      status: 206, reasonPhrase: "Partial Content",
      headers: ["ETag": "\"1\"", "Vary": "accept", "X-Text": "äöü 😀", "vary": "", "": "empty"],
      selectors: ["accept": "text/html", "accept-language": ""],
      requestTime: Date(timeIntervalSinceReferenceDate: 1.1),
      responseTime: Date(timeIntervalSinceReferenceDate: -2e300), bodyLength: Int64(body.count), programLifetime: 0.1)
    return CacheRecord(
      index: CacheIndex(generation: .max, selections: [["accept", "cookie"], [], ["ä"]]), entry: entry,
      body: .data(body))
  }

  /// The bytes of the body, wherever they are.
  var bodyBytes: Data? {
    switch body {
    case .data(let data): data
    case .file(let file): try? file.read(from: 0, count: Int(file.count))
    }
  }
}
