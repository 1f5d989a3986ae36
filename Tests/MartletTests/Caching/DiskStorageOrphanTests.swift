import Foundation
import TestSupport
import Testing

@testable import Martlet

/// Files without a record: left by a killed process, or about to be referenced by a running one.
@Suite struct DiskStorageOrphanTests {
  private static let large = Data(repeating: 7, count: 2 << 20)

  @Test func `removes a body without a record after a grace period`() throws {
    let folder = try ShelfFolder()
    let key = CacheKey.sample("a")
    try folder.shelf().store(.sample(body: Self.large), key)
    let body = try #require(folder.body(key))
    try FileManager.default.removeItem(atPath: folder.file(key))

    #expect(folder.shelf(at: Date() + 30).usage().records == 0)
    #expect(FileManager.default.fileExists(atPath: body))

    _ = folder.shelf(at: Date() + 120).usage()
    #expect(!FileManager.default.fileExists(atPath: body))
  }

  @Test func `removes a temporary file only after a grace period`() throws {
    let folder = try ShelfFolder()
    let shelf = folder.shelf()
    var sink = try #require(try shelf.makeSink())
    try sink.write(Self.large)
    #expect(folder.files.count == 1)

    _ = folder.shelf().usage()
    #expect(folder.files.count == 1)
    _ = folder.shelf(at: Date() + 7200).usage()

    #expect(folder.files.isEmpty)
    withExtendedLifetime(sink) {}
  }

  @Test func `keeps a record used by another process even if its folder is not rescanned`() throws {
    let folder = try ShelfFolder()
    let start = Date(timeIntervalSince1970: 1_700_000_000)
    let limit: Int64 = 1_000_000
    func body(_ count: Int64) -> CacheRecord { .sample(body: Data(count: Int(count))) }
    let now = Shared(start)
    let shelf = DiskStorage(path: folder.store, limit: limit) { now.value }
    for number in 0..<9 { try shelf.store(body(100_000), .sample("\(number)")) }
    try shelf.store(body(limit - shelf.usage().bytes - 2_000), .sample("fill"))
    #expect(try folder.shelf(at: start + 5_000).record(.sample("0")) != nil)

    now.withLock { $0 += 6_000 }
    // This exceeds the limit by too little to scan more than a few folders.
    try shelf.store(body(3_000), .sample("last"))

    #expect(try shelf.record(.sample("0")) != nil)
    #expect(try shelf.record(.sample("1")) == nil)
  }

  @Test func `a replaced record counts once against the limit`() throws {
    let folder = try ShelfFolder()
    let shelf = folder.shelf(limit: 4 << 20)
    try shelf.store(.sample("a", body: Data(count: 100)), .sample("a"))
    for _ in 0..<20 { try shelf.store(.sample("b", body: Data(count: 500 << 10)), .sample("b")) }

    #expect(try shelf.record(.sample("a")) != nil)
    #expect(try shelf.record(.sample("b")) != nil)
  }
}
