import Foundation
import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

/// Eviction when the storage exceeds its limit, including records that other processes stored.
@Suite struct DiskStorageLimitTests {
  private static let start = Date(timeIntervalSince1970: 1_800_000_000)

  private static func key(_ number: Int) -> CacheKey { .sample("\(number)") }

  private func numbers(_ shelf: DiskStorage, _ range: Range<Int>) throws -> [Int] {
    try range.filter { try shelf.record(Self.key($0)) != nil }
  }

  @Test func `evicts the least recently used records first, even after a restart`() throws {
    let folder = try ShelfFolder()
    for number in 0..<10 {
      try folder.shelf(at: Self.start + Double(number)).store(.sample(body: Data(count: 10_000)), Self.key(number))
    }
    // Two records are used much later.
    for number in [0, 3] { _ = try folder.shelf(at: Self.start + 10_000).record(Self.key(number)) }

    let shelf = folder.shelf(limit: 80_000, at: Self.start + 20_000)
    try shelf.store(.sample(body: Data(count: 10_000)), Self.key(10))

    let left = try numbers(folder.shelf(), 0..<11)
    #expect(left.contains(0) && left.contains(3) && left.contains(10))
    #expect(left.filter { $0 != 0 && $0 != 3 } == Array((11 - left.count + 2)..<11))
    #expect((5...8).contains(left.count))
    #expect(shelf.usage().bytes <= 80_000)
    #expect(shelf.usage().records == left.count)
  }

  @Test func `a lookup immediately protects a record from eviction`() throws {
    let folder = try ShelfFolder()
    let clock = Locked(0.0)
    let shelf = DiskStorage(path: folder.store, limit: 100_000) {
      Self.start
        + clock.withLock { value in
          value += 1
          return value
        }
    }

    try shelf.store(.sample(body: Data(count: 10_000)), Self.key(0))
    for number in 1..<40 {
      try shelf.store(.sample(body: Data(count: 10_000)), Self.key(number))
      #expect(try shelf.record(Self.key(0)) != nil)
    }

    #expect(try numbers(shelf, 30..<40).suffix(5) == [35, 36, 37, 38, 39])
    #expect(try shelf.record(Self.key(1)) == nil)
  }

  @Test func `the limit covers all files, including large bodies`() throws {
    let folder = try ShelfFolder()
    let limit: Int64 = 12 << 20
    let shelf = folder.shelf(limit: limit)

    for number in 0..<40 {
      let size = number % 3 == 0 ? 2_000_000 : 200_000
      try shelf.store(.sample(body: Data(repeating: UInt8(number), count: size)), Self.key(number))
      let sum = try folder.files.reduce(0) { $0 + (try ShelfFolder.attribute("\(folder.store)/\($1)", .size) ?? 0) }
      #expect(Int64(sum) <= limit)
      #expect(Int64(sum) == shelf.state.withLock { $0.index.bytes })
    }

    for number in 36..<40 { #expect(try shelf.record(Self.key(number)) != nil) }
  }

  @Test func `does not store an oversized record, and removes the record it replaces`() throws {
    let folder = try ShelfFolder()
    let shelf = folder.shelf(limit: 5_000)
    try shelf.store(.sample(), Self.key(1))
    let wasThere = try shelf.record(Self.key(1)) != nil

    try shelf.store(.sample(body: Data(count: 5_000)), Self.key(1))

    #expect(wasThere)
    #expect(try shelf.record(Self.key(1)) == nil)
    #expect(folder.files.isEmpty)
  }

  @Test func `independent instances together exceed the limit by at most a tenth`() throws {
    let folder = try ShelfFolder()
    let limit = Int64(Stress.count(500_000, full: 2_000_000))
    let shelves = [folder.shelf(limit: limit), folder.shelf(limit: limit)]
    var most = 0

    for number in 0..<Stress.count(300, full: 1_200) {
      try shelves[number % 2].store(.sample(body: Data(count: 5_000)), Self.key(number))
      guard number % 25 == 24 else { continue }
      most = max(
        most, try folder.files.reduce(0) { $0 + (try ShelfFolder.attribute("\(folder.store)/\($1)", .size) ?? 0) })
    }

    #expect(Int64(most) <= limit + limit / 10)
    #expect(Int64(most) >= limit / 2)
  }

  @Test func `does not evict a record that another process has used recently`() throws {
    let folder = try ShelfFolder()
    let shelf = folder.shelf(limit: 100_000, at: Self.start)
    for number in 0..<8 { try shelf.store(.sample(body: Data(count: 10_000)), Self.key(number)) }
    _ = try folder.shelf(at: Self.start + 5_000).record(Self.key(0))

    let later = folder.shelf(limit: 100_000, at: Self.start + 6_000)
    later.state.withLock { later in
      later.index = shelf.state.withLock { $0.index }
      later.isScanned = true
    }
    for number in 8..<12 { try later.store(.sample(body: Data(count: 10_000)), Self.key(number)) }

    #expect(try later.record(Self.key(0)) != nil)
    #expect(try later.record(Self.key(11)) != nil)
  }

  @Test func `evicts records dated in the future, and a use corrects the date`() throws {
    let folder = try ShelfFolder()
    for number in 0..<10 {
      try folder.shelf(at: Self.start).store(.sample(body: Data(count: 10_000)), Self.key(number))
      try ShelfFolder.setTime(folder.file(Self.key(number)), Self.start + 9e8)
    }

    let shelf = folder.shelf(limit: 60_000, at: Self.start)
    try shelf.store(.sample(body: Data(count: 10_000)), Self.key(10))
    #expect(shelf.usage().bytes <= 60_000)

    // A lookup corrects the modification date.
    let left = try #require(try numbers(shelf, 0..<10).first)
    let time = try FileManager.default.attributesOfItem(atPath: folder.file(Self.key(left)))[.modificationDate] as? Date
    #expect(time == Self.start)
  }

  @Test func `removes temporary files of killed processes later, and keeps foreign files`() throws {
    let folder = try ShelfFolder()
    let shelf = folder.shelf(at: Self.start)
    let large = Data(count: 1 << 20 | 1)
    try shelf.store(.sample(body: large), Self.key(1))
    let body = try #require(folder.body(Self.key(1)))
    let orphan = String(body.dropLast(16)) + "0123456789abcdef"
    let names = [
      "new-0123456789abcdef-0123456789abcdef", "new-0123456789abcdeg-0123456789abcdef", "new-", "notes", "README.md",
      "ab/notes", ".hidden",
    ]
    try FileManager.default.createDirectory(atPath: folder.store + "/ab", withIntermediateDirectories: true)
    for path in names.map({ "\(folder.store)/\($0)" }) + [orphan] {
      try large.write(to: URL(filePath: path))
      try ShelfFolder.setTime(path, Self.start - 30)
    }
    let before = folder.files

    _ = shelf.usage()
    #expect(folder.files == before)
    _ = folder.shelf(at: Self.start + 7200).usage()

    let gone = Set(before).subtracting(folder.files)
    #expect(gone == [names[0], String(orphan.dropFirst(folder.store.count + 1))])
    #expect(try shelf.record(Self.key(1))?.bodyBytes == large)
  }

  @Test func `a scan of a folder keeps index entries that were stored during the scan`() {
    var index = DiskIndex()
    let (old, new, other) = (DiskName(Self.key(1)), DiskName(Self.key(2)), DiskName(Self.key(3)))
    index.put(old, DiskIndex.Slot(bytes: 10, lastUse: 5))
    let start = index.changes
    index.put(new, DiskIndex.Slot(bytes: 20, lastUse: 7))

    for part in 0..<DiskIndex.partCount {
      var found: [DiskName: DiskIndex.Slot] = [:]
      if part == old.folder { found[old] = DiskIndex.Slot(bytes: 11, lastUse: 3) }
      if part == other.folder { found[other] = DiskIndex.Slot(bytes: 40, lastUse: 1) }
      index.replace(part: part, with: found, since: start)
    }

    #expect(index.count == 3)
    #expect(index.bytes == 71)
    #expect(index[old]?.lastUse == 5)
    #expect(index.victims(limit: 60).map(\.name) == [other])
    #expect(index.victims(limit: 71).isEmpty)
    #expect(index.victims(limit: 0).count == 3)
  }
}
