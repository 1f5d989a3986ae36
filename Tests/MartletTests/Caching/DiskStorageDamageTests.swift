import Foundation
import TestSupport
import Testing

@testable import Martlet

/// A damaged file counts as absent and is removed.
@Suite struct DiskStorageDamageTests {
  private static let key = CacheKey.sample("a")
  private static let large = Data((0..<(1 << 20 | 77)).map { UInt8(truncatingIfNeeded: $0 &* 31) })

  private static func small() -> CacheRecord {
    var record = CacheRecord.sample()
    record.entry?.headers = ["ETag": "\"1\""]
    record.index = nil
    return record
  }

  /// Expects that a record with a damaged file is not found, that the file is removed, and that the key can be stored
  /// again.
  private func expectAbsent(_ folder: ShelfFolder, _ shelf: DiskStorage, _ what: Comment) throws {
    #expect(try shelf.record(Self.key) == nil, what)
    #expect(folder.files.isEmpty, what)
    try shelf.store(Self.small(), Self.key)
    #expect(try shelf.record(Self.key) != nil, what)
  }

  @Test func `discards a truncated or extended record`() throws {
    let folder = try ShelfFolder()
    let shelf = folder.shelf()
    try shelf.store(Self.small(), Self.key)
    let path = folder.file(Self.key)
    let bytes = try ShelfFolder.bytes(path)

    for count in 0..<bytes.count {
      try ShelfFolder.overwrite(path, Array(bytes.prefix(count)))
      try expectAbsent(folder, shelf, "\(count) bytes")
    }
    try ShelfFolder.overwrite(path, bytes + [0])
    try expectAbsent(folder, shelf, "one byte more")
  }

  @Test func `discards a record with any flipped bit`() throws {
    let folder = try ShelfFolder()
    let shelf = folder.shelf()
    try shelf.store(Self.small(), Self.key)
    let path = folder.file(Self.key)
    let bytes = try ShelfFolder.bytes(path)

    // Checks one bit of each octet, or every bit in stress runs.
    for bit in 0..<(bytes.count * 8) where Stress.isOn || bit % 8 == bit / 8 % 8 {
      var damaged = bytes
      damaged[bit / 8] ^= 1 << UInt8(bit % 8)
      try ShelfFolder.overwrite(path, damaged)
      try expectAbsent(folder, shelf, "bit \(bit)")
    }
  }

  @Test func `discards a file with arbitrary contents`() throws {
    let folder = try ShelfFolder()
    let shelf = folder.shelf()
    var random = SeededGenerator(seed: 9)
    try shelf.store(Self.small(), Self.key)
    let bytes = try ShelfFolder.bytes(folder.file(Self.key))
    let texts: [[UInt8]] = [
      [], [0], Array("<html>".utf8), [UInt8](repeating: 0, count: 4096), [UInt8](repeating: 0xFF, count: 100_000),
      bytes + bytes, Array(bytes.reversed()), Array(bytes.dropFirst()),
    ]
    let noise = (0..<Stress.count(50, full: 200)).map { _ in
      (0..<Int.random(in: 1...400, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    for text in texts + noise + noise.map({ bytes.prefix(16) + $0 }) {
      try ShelfFolder.overwrite(folder.file(Self.key), text)
      try expectAbsent(folder, shelf, "\(text.prefix(20))")
    }
  }

  @Test func `discards a file that contains the record of another key`() throws {
    let folder = try ShelfFolder()
    let shelf = folder.shelf()
    let manager = FileManager.default
    for other in [CacheKey.sample("b"), CacheKey(url: Self.key.url), CacheKey(url: "", detail: "")] {
      try shelf.store(Self.small(), Self.key)
      try shelf.store(Self.small(), other)
      try manager.removeItem(atPath: folder.file(Self.key))
      try manager.moveItem(atPath: folder.file(other), toPath: folder.file(Self.key))
      #expect(shelf.contents().isEmpty)
      try expectAbsent(folder, shelf, "\(other)")
    }
  }

  @Test(arguments: ["link", "dangling link", "folder", "full folder", "pipe"])
  func `discards a link, folder or pipe in place of a record file`(what: String) throws {
    let folder = try ShelfFolder()
    let manager = FileManager.default
    for (isScanned, isStored) in [(false, false), (true, false), (false, true)] {
      let shelf = folder.shelf()
      try shelf.store(Self.small(), Self.key)
      let path = folder.file(Self.key)
      let victim = folder.path + "/victim"
      try Data(ShelfFolder.bytes(path)).write(to: URL(filePath: victim))
      try manager.removeItem(atPath: path)
      switch what {
      case "link": try manager.createSymbolicLink(atPath: path, withDestinationPath: victim)
      case "dangling link": try manager.createSymbolicLink(atPath: path, withDestinationPath: victim + "-")
      case "folder": try manager.createDirectory(atPath: path, withIntermediateDirectories: true)
      case "full folder":
        try manager.createDirectory(atPath: path + "/a/b", withIntermediateDirectories: true)
        try manager.createSymbolicLink(atPath: path + "/a/link", withDestinationPath: folder.path)
        try Data([1]).write(to: URL(filePath: path + "/a/b/c"))
      case "pipe": #expect(mkfifo(path, 0o600) == 0)
      default: break
      }

      if isScanned {
        #expect(folder.shelf().usage().records == 0)
        #expect(folder.files.isEmpty)
      }
      if isStored { try shelf.store(Self.small(), Self.key) } else { try expectAbsent(folder, shelf, "\(what)") }
      #expect(try folder.shelf().record(Self.key)?.entry == Self.small().entry)
      #expect(try ShelfFolder.bytes(victim).count == ShelfFolder.bytes(path).count)
      try shelf.removeAll()
    }
  }

  @Test func `does not follow a symbolic link in place of a folder`() throws {
    let folder = try ShelfFolder()
    let manager = FileManager.default
    for isStored in [false, true] {
      try folder.shelf().store(Self.small(), Self.key)
      let inner = "\(folder.store)/\(Self.key.digest.prefix(2))"
      try manager.moveItem(atPath: inner, toPath: folder.path + "/else")
      try manager.createSymbolicLink(atPath: inner, withDestinationPath: folder.path + "/else")
      let shelf = folder.shelf()

      if isStored {
        try shelf.store(CacheRecord(), Self.key)
        #expect(try shelf.record(Self.key)?.entry == nil)
      } else {
        #expect(try shelf.record(Self.key) == nil)
        #expect(shelf.contents().isEmpty)
      }
      #expect(try manager.contentsOfDirectory(atPath: folder.path + "/else") == [Self.key.digest])
      try manager.removeItem(atPath: folder.path + "/else")
      try shelf.removeAll()
    }
  }

  // MARK: Large bodies

  @Test(arguments: [
    "absent", "empty", "cut", "longer", "first bit", "last bit", "some bit", "link", "folder", "other's",
  ])
  func `discards a record whose large body is damaged`(damage: String) throws {
    let folder = try ShelfFolder()
    let writer = folder.shelf()
    // One storage has read the body before, the other is new.
    for shelf in [writer, folder.shelf()] {
      try shelf.store(CacheRecord(entry: Self.small().entry, body: .data(Self.large)), Self.key)
      #expect(try shelf.record(Self.key)?.bodyBytes == Self.large)
      let path = try #require(folder.body(Self.key))
      var bytes = try ShelfFolder.bytes(path)
      switch damage {
      case "empty": bytes = []
      case "cut": bytes.removeLast()
      case "longer": bytes.append(0)
      case "first bit": bytes[0] ^= 1
      case "last bit": bytes[bytes.count - 1] ^= 0x80
      case "some bit": bytes[bytes.count / 2] ^= 8
      case "other's": bytes = Array(Self.large.reversed())
      default: break
      }
      if ["absent", "link", "folder"].contains(damage) {
        try FileManager.default.removeItem(atPath: path)
        if damage == "folder" {
          try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } else if damage == "link" {
          let victim = folder.path + "/victim"
          try Self.large.write(to: URL(filePath: victim))
          try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: victim)
        }
      } else {
        try ShelfFolder.overwrite(path, bytes)
      }

      try expectAbsent(folder, shelf, "\(damage)")
      try shelf.remove(Self.key)
    }
  }

  @Test func `throws if a body file is truncated before it is read`() throws {
    let folder = try ShelfFolder()
    try folder.shelf().store(CacheRecord(entry: nil, body: .data(Self.large)), Self.key)
    guard case .file(let file)? = try folder.shelf().record(Self.key)?.body else {
      Issue.record("no file")
      return
    }

    try ShelfFolder.overwrite(#require(folder.body(Self.key)), [1, 2, 3])

    let error = #expect(throws: HTTPError.self) { try file.read(from: 0, count: 10) }
    #expect(error?.kind == .fileFailed)
  }
}
