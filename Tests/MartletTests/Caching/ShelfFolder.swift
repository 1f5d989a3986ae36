import Foundation
import TestSupport

@testable import Martlet

/// A folder for disk storages, removed with its last reference.
final class ShelfFolder: Sendable {
  private let folder: TemporaryFolder
  var path: String { folder.url.path }

  init() throws { folder = try TemporaryFolder() }

  /// The path of the storages: a folder that does not exist at first.
  var store: String { path + "/store" }

  /// Creates a storage there.
  ///
  /// The default date is the current time, because the file system dates new files with it.
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

  /// The path of a large body's file.
  func body(_ key: CacheKey) -> String? { files.first { $0.contains(key.digest + "-") }.map { "\(store)/\($0)" } }

  static func bytes(_ path: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(filePath: path))) }

  /// Overwrites the bytes of an existing file in place.
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
  /// A record that contains every optional part.
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

  /// The bytes of the body, whether in memory or in a file.
  var bodyBytes: Data? {
    switch body {
    case .data(let data): data
    case .file(let file): try? file.read(from: 0, count: Int(file.count))
    }
  }
}
