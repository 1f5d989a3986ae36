import Foundation
import Testing

@testable import Martlet

@Suite struct DiskStorageTests {
  private static let large = Data((0..<(1 << 20 | 12_345)).map { UInt8(truncatingIfNeeded: $0 &* 31) })

  @Test func `a new instance finds the stored records`() throws {
    let folder = try ShelfFolder()
    let key = CacheKey.sample("a")

    try folder.shelf().store(.sample(body: Data(count: 30_000)), key)
    let found = try folder.shelf().record(key)

    #expect(found?.entry == CacheRecord.sample(body: Data(count: 30_000)).entry)
    #expect(found?.index == CacheRecord.sample().index)
    #expect(found?.bodyBytes == Data(count: 30_000))
    #expect(try folder.shelf().record(.sample("b")) == nil)
    #expect(try folder.shelf().record(CacheKey(url: key.url)) == nil)
  }

  @Test func `files are private to their owner and do not reveal the URL`() throws {
    let folder = try ShelfFolder()
    let key = CacheKey.sample("a")

    try folder.shelf().store(.sample(body: Self.large), key)

    #expect(folder.files.count == 2)
    #expect(folder.files.allSatisfy { $0.hasPrefix("\(key.digest.prefix(2))/\(key.digest)") })
    for file in folder.files {
      #expect(try ShelfFolder.attribute("\(folder.store)/\(file)", .posixPermissions) == 0o600)
    }
    #expect(try ShelfFolder.attribute(folder.store, .posixPermissions) == 0o700)
    #expect(try ShelfFolder.attribute("\(folder.store)/\(key.digest.prefix(2))", .posixPermissions) == 0o700)
  }

  @Test func `replaces and removes records`() throws {
    let folder = try ShelfFolder()
    let shelf = folder.shelf()
    for name in ["a", "b"] {
      for body in ["1", "22"] { try shelf.store(.sample(body: Data(body.utf8)), .sample(name)) }
    }

    try shelf.remove(.sample("a"))
    try shelf.remove(.sample("a"))

    #expect(try shelf.record(.sample("a")) == nil)
    #expect(try shelf.record(.sample("b"))?.bodyBytes == Data("22".utf8))
    #expect(folder.files.count == 1)
    let usage = shelf.usage()
    #expect(usage.records == 1)
    #expect(try usage.bytes == Int64(ShelfFolder.bytes(folder.file(.sample("b"))).count))
  }

  @Test func `lists its records, and removes all of them but no foreign files`() throws {
    let folder = try ShelfFolder()
    let shelf = folder.shelf()
    for name in ["a", "b", "c"] {
      try shelf.store(.sample(name, body: name == "c" ? Self.large : Data()), .sample(name))
    }
    try Data("mine".utf8).write(to: URL(filePath: folder.store + "/notes.txt"))

    let contents = folder.shelf().contents()
    #expect(Set(contents.map(\.key)) == [.sample("a"), .sample("b"), .sample("c")])
    #expect(
      contents.allSatisfy {
        $0.record.entry
          == CacheRecord.sample(
            String($0.key.url.suffix(1)), body: $0.key == .sample("c") ? Self.large : Data()
          ).entry
      })

    try shelf.removeAll()
    #expect(folder.files == ["notes.txt"])
    #expect(shelf.usage() == (0, 0))
    try shelf.store(.sample(), .sample("a"))
    #expect(try shelf.record(.sample("a")) != nil)
  }

  @Test func `isSurelyEmpty is true only if the folder does not exist`() throws {
    let folder = try ShelfFolder()
    let shelf = folder.shelf()
    let isEmptyAtFirst = shelf.isSurelyEmpty

    try folder.shelf().store(.sample(), .sample("a"))

    #expect(isEmptyAtFirst)
    #expect(!shelf.isSurelyEmpty)
    #expect(try shelf.record(.sample("a")) != nil)
  }

  // MARK: Large bodies

  @Test func `stores a large body in a separate file, and reads ranges of it`() throws {
    let folder = try ShelfFolder()
    var sink = try #require(try folder.shelf().makeSink())
    for start in stride(from: 0, to: Self.large.count, by: 50_000) {
      try sink.write(Self.large[start..<min(start + 50_000, Self.large.count)])
    }
    var record = CacheRecord.sample()
    record.body = sink.finish()

    try folder.shelf().store(record, .sample("a"))
    guard case .file(let file)? = try folder.shelf().record(.sample("a"))?.body else {
      Issue.record("no file")
      return
    }

    #expect(file.count == Int64(Self.large.count))
    #expect(try file.read(from: 1000, count: 5) == Self.large[1000..<1005])
    #expect(try file.read(from: file.count - 2, count: 50) == Self.large.suffix(2))
    #expect(try file.read(from: file.count, count: 50).isEmpty)
    #expect(try file.read(from: .max, count: .max).isEmpty)
    #expect(try file.read(from: -1, count: 5).isEmpty)
    #expect(try file.read(from: 0, count: .max) == Self.large)
    #expect(folder.files.count == 2)
  }

  @Test func `a new head keeps the body file, and a new body replaces it`() throws {
    let folder = try ShelfFolder()
    let shelf = folder.shelf()
    try shelf.store(.sample(body: Self.large), .sample("a"))
    let path = try #require(folder.body(.sample("a")))
    let inode = try ShelfFolder.attribute(path, .systemFileNumber)
    var record = try #require(try folder.shelf().record(.sample("a")))
    let open = record.body

    record.entry?.status = 299
    try shelf.store(record, .sample("a"))
    let renewed = try folder.shelf().record(.sample("a"))
    #expect(renewed?.entry?.status == 299)
    #expect(renewed?.bodyBytes == Self.large)
    #expect(try ShelfFolder.attribute(path, .systemFileNumber) == inode)

    try shelf.store(.sample(body: Self.large + [1]), .sample("a"))
    #expect(folder.body(.sample("a")) != path)
    #expect(folder.files.count == 2)
    try shelf.store(.sample(), .sample("a"))
    #expect(folder.files.count == 1)
    // A reader that has the old file open can still read it to the end.
    guard case .file(let file) = open else { return }
    #expect(try file.read(from: 0, count: Self.large.count) == Self.large)
  }

  @Test func `copies a body that belongs to another key or was removed`() throws {
    let folder = try ShelfFolder()
    let shelf = folder.shelf()
    try shelf.store(.sample(body: Self.large), .sample("a"))
    let record = try #require(try shelf.record(.sample("a")))

    try shelf.store(record, .sample("b"))
    try shelf.remove(.sample("a"))
    try shelf.store(record, .sample("a"))

    for name in ["a", "b"] { #expect(try folder.shelf().record(.sample(name))?.bodyBytes == Self.large) }
    #expect(folder.files.count == 4)
  }

  @Test func `sinks leave no files if their bodies are not stored`() throws {
    let folder = try ShelfFolder()
    let shelf = folder.shelf(limit: 16 << 20)
    for count in [1, 4] {
      var sinks = [try shelf.makeSink(), try shelf.makeSink(), try shelf.makeSink()].compactMap { $0 }
      for index in sinks.indices { for _ in 0..<count { try sinks[index].write(Data(count: 700_000)) } }
      #expect(folder.files.count == 3)
      #expect(folder.files.allSatisfy { $0.hasPrefix("new-") })

      sinks.removeFirst()
      #expect(folder.files.count == 2)
      var body: CachedBody? = sinks[0].finish()
      sinks = []
      #expect(folder.files.count == 1)
      #expect(body?.count == Int64(count * 700_000))
      body = nil
      #expect(folder.files.isEmpty)
    }
  }

  // MARK: Unusable folders

  @Test func `creates its folder again after it was deleted or moved`() throws {
    let folder = try ShelfFolder()
    let shelf = folder.shelf()
    for name in ["a", "b"] { try shelf.store(.sample(), .sample(name)) }

    for _ in 0..<2 {
      try FileManager.default.removeItem(atPath: folder.store)
      #expect(try shelf.record(.sample("a")) == nil)
      #expect(shelf.usage() == (0, 0))
      #expect(throws: Never.self) { try shelf.remove(.sample("a")) }
      try shelf.store(.sample(), .sample("a"))
      #expect(try folder.shelf().record(.sample("a")) != nil)
      #expect(shelf.usage().records == 1)
    }
    // A folder that was moved away is no longer the storage.
    try FileManager.default.moveItem(atPath: folder.store, toPath: folder.path + "/moved")
    try shelf.store(.sample(), .sample("c"))
    #expect(try folder.shelf().record(.sample("c")) != nil)
    #expect(try shelf.record(.sample("a")) == nil)
  }

  @Test func `creates its folder with intermediate folders`() throws {
    let folder = try ShelfFolder()
    let shelf = DiskStorage(path: folder.path + "/x/y/z/", limit: 1 << 20)

    try shelf.store(.sample(), .sample("a"))

    #expect(try shelf.record(.sample("a")) != nil)
    #expect(try ShelfFolder.attribute(folder.path + "/x", .posixPermissions) == 0o700)
  }

  /// Without `unwritable` for root, because root can write to read-only folders.
  static let troubles = ["file", "link", "open to others", "below a file"] + (geteuid() == 0 ? [] : ["unwritable"])

  @Test(arguments: troubles)
  func `with an unusable folder, lookups miss and storing throws an error with the path`(trouble: String) throws {
    let folder = try ShelfFolder()
    let manager = FileManager.default
    var path = folder.store
    switch trouble {
    case "file": try Data("precious".utf8).write(to: URL(filePath: path))
    case "link":
      try manager.createDirectory(atPath: folder.path + "/else", withIntermediateDirectories: true)
      try manager.createSymbolicLink(atPath: path, withDestinationPath: folder.path + "/else")
    case "below a file":
      try Data().write(to: URL(filePath: path))
      path += "/store"
    case "unwritable":
      try manager.createDirectory(atPath: path, withIntermediateDirectories: true)
      try manager.setAttributes([.posixPermissions: 0o500], ofItemAtPath: path)
    default:
      try manager.createDirectory(atPath: path, withIntermediateDirectories: true)
      try manager.setAttributes([.posixPermissions: 0o777], ofItemAtPath: path)
    }
    let shelf = DiskStorage(path: path, limit: 1 << 20)

    let error = #expect(throws: HTTPError.self) { try shelf.store(.sample(), .sample("a")) }

    #expect(error?.kind == .fileFailed)
    #expect(error?.message.contains(path) == true)
    #expect(try shelf.record(.sample("a")) == nil)
    #expect(shelf.usage() == (0, 0))
    #expect(shelf.contents().isEmpty)
    #expect(throws: Never.self) {
      try shelf.remove(.sample("a"))
      try shelf.removeAll()
    }
    #expect(try manager.contentsOfDirectory(atPath: folder.path).allSatisfy { ["store", "else"].contains($0) })
    if trouble == "file" { #expect(try ShelfFolder.bytes(path) == Array("precious".utf8)) }
  }
}
