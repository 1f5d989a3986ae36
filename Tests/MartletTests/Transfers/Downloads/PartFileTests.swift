import Foundation
import TestSupport
import Testing

@testable import Martlet

/// The part file and its record must be consistent at every moment, because the process may be killed at any time.
@Suite(.hangLimit) struct PartFileTests {
  private final class Folder: Sendable {
    private let folder: TemporaryFolder
    var path: String { folder.url.path }

    init() throws { folder = try TemporaryFolder() }

    var part: String { path + "/a.part" }

    func open(
      _ url: String = "https://a.test/a", _ resume: DownloadOptions.Resume = .automatic, partition: String = ""
    ) async throws -> PartFile {
      try await PartFile.open(part, url: url, partition: partition, resume: resume)
    }

    func record() throws -> PartRecord? {
      if case .found(let record) = try PartRecord.read(PartFile.recordPath(of: part)) { return record }
      return nil
    }
  }

  private func begin(_ part: PartFile, _ tag: String = "1", length: Int64? = nil) throws {
    try part.start { $0.describe(["ETag": "\"\(tag)\""], length: length, isResumable: true) }
  }

  private func mode(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }

  @Test(arguments: [false, true])
  func `is owner-only until it is finished, then has the requested permissions`(isPrivate: Bool) async throws {
    let folder = try Folder()
    let usual = folder.path + "/usual"
    let descriptor = open(usual, O_WRONLY | O_CREAT, 0o666)
    _ = close(descriptor)
    let part = try await folder.open()
    try begin(part, length: 10)
    _ = try part.write(Data(count: 10), at: 0)
    #expect(try mode(folder.part) == 0o600)

    try part.seal(nil, isPrivate: isPrivate)
    #expect(try part.finish(as: folder.path + "/a", isReplacing: true))

    #expect(try mode(folder.path + "/a") == (isPrivate ? 0o600 : mode(usual)))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["a", "usual"])
  }

  @Test func `is owner-only again when it is released unfinished or resumed`() async throws {
    let folder = try Folder()
    let part = try await folder.open()
    try begin(part)
    _ = try part.write(Data(count: 10), at: 0)
    try part.seal(nil, isPrivate: false)

    try part.leave()
    #expect(try mode(folder.part) == 0o600)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder.part)
    let next = try await folder.open()

    #expect(next.record.written.spans == [0..<10])
    #expect(try mode(folder.part) == 0o600)
  }

  @Test func `restarts a world-writable part file`() async throws {
    let folder = try Folder()
    try Data("x".utf8).write(to: URL(filePath: folder.part))
    try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: folder.part)

    let part = try await folder.open("https://a.test/a", .automatic)

    #expect(part.record.written.isEmpty)
    #expect(try mode(folder.part) == 0o600)
    #expect(try Data(contentsOf: URL(filePath: folder.part)).isEmpty)
  }

  @Test(arguments: [false, true])
  func `a folder that cannot be opened throws before the file is renamed`(isReplacing: Bool) async throws {
    let folder = try Folder()
    let part = try await folder.open()
    try begin(part, length: 10)
    _ = try part.write(Data(count: 10), at: 0)
    try part.seal(nil, isPrivate: false)

    let error = #expect(throws: HTTPError.self) {
      try part.finish(as: folder.path + "/a", isReplacing: isReplacing, calls: .unopened(EMFILE))
    }
    try part.leave()

    #expect(error?.kind == .fileFailed)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["a.part", "a.part.json"])
    let next = try await folder.open()
    #expect(next.record.written.spans == [0..<10])
    #expect(try next.finish(as: folder.path + "/a", isReplacing: isReplacing))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a"])
  }

  @Test(arguments: [DownloadOptions.Resume.automatic, .never])
  func `replaces a hard-linked part file and leaves the other link unchanged`(
    resume: DownloadOptions.Resume
  ) async throws {
    let folder = try Folder()
    let part = try await folder.open()
    try begin(part, length: 10)
    _ = try part.write(Data(repeating: 1, count: 10), at: 0)
    try part.leave()
    // A process that is killed while it renames the finished file can leave both names.
    try FileManager.default.linkItem(atPath: folder.part, toPath: folder.path + "/a")

    let next = try await folder.open("https://a.test/a", resume)
    try begin(next)
    _ = try next.write(Data(repeating: 2, count: 20), at: 0)

    #expect(try Data(contentsOf: URL(filePath: folder.path + "/a")) == Data(repeating: 1, count: 10))
    #expect(try Data(contentsOf: URL(filePath: folder.part)) == Data(repeating: 2, count: 20))
  }

  @Test func `records a gap before writing after it`() async throws {
    let folder = try Folder()
    let part = try await folder.open()
    try begin(part)
    _ = try part.write(Data(count: 100), at: 0)
    #expect(try folder.record()?.isSequential == true)

    _ = try part.write(Data(count: 100), at: 1000)

    let record = try #require(try folder.record())
    #expect(!record.isSequential)
    #expect(record.reliable(size: 1100, boot: record.boot).missing(in: 0..<1000).contains { $0.contains(500) })
  }

  @Test func `starting a new version discards the bytes of the old one`() async throws {
    let folder = try Folder()
    let first = try await folder.open()
    try begin(first, "1")
    _ = try first.write(Data(repeating: 1, count: 1000), at: 0)
    try begin(first, "2")
    _ = try first.write(Data(repeating: 2, count: 10), at: 0)
    first.close()

    let second = try await folder.open()

    #expect(second.record.entityTag == "\"2\"")
    #expect(second.record.written.spans == [0..<10])
    #expect(try second.read(at: 0, count: 100) == Data(repeating: 2, count: 10))
  }

  @Test(arguments: [DownloadOptions.Resume.automatic, .fromAnyURL])
  func `does not resume a part file of another partition`(resume: DownloadOptions.Resume) async throws {
    let folder = try Folder()
    let first = try await folder.open(partition: "anything")
    try begin(first)
    _ = try first.write(Data(repeating: 1, count: 10), at: 0)
    first.close()

    let second = try await folder.open("https://a.test/a", resume)

    #expect(second.record.validator == nil && second.record.written.isEmpty && second.record.partition.isEmpty)
    #expect(try second.read(at: 0, count: 10).isEmpty)
    try begin(second)
    _ = try second.write(Data(repeating: 2, count: 10), at: 0)
    second.close()
    #expect(try await folder.open().record.entityTag == "\"1\"")
  }

  @Test func `records synced bytes for recovery after a reboot`() async throws {
    let folder = try Folder()
    let part = try await folder.open()
    try begin(part)
    _ = try part.write(Data(count: 1000), at: 0)
    try part.sync()
    _ = try part.write(Data(count: 1000), at: 1000)
    try part.save()

    let record = try #require(try folder.record())

    #expect(record.reliable(size: 2000, boot: "another run").spans == [0..<1000])
  }

  @Test func `a discarded part file cannot be written`() async throws {
    let folder = try Folder()
    let part = try await folder.open()
    try begin(part)

    part.discard()
    try part.save()

    #expect(throws: HTTPError.self) { try part.write(Data(count: 1), at: 0) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
  }

  @Test func `resumes a part file of another URL only with fromAnyURL`() async throws {
    let folder = try Folder()
    let part = try await folder.open()
    try begin(part)
    _ = try part.write(Data(count: 10), at: 0)
    part.close()

    let error = await #expect(throws: HTTPError.self) { try await folder.open("https://a.test/b") }
    #expect(error?.kind == .fileFailed)
    let other = try await folder.open("https://a.test/b", .fromAnyURL)
    #expect(other.record.written.spans == [0..<10])
  }
}
