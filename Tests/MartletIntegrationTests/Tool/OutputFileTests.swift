import Foundation
import TestSupport
import Testing

@testable import MartletTool

@Suite(.hangLimit) struct OutputFileTests {
  @Test func `the file appears only when it is complete`() throws {
    let folder = try TemporaryFolder()

    let file = try OutputFile(folder.path("a"))
    try file.write(Data("12".utf8))
    let names = folder.names
    try file.write(Data("34".utf8))
    try file.finish()
    file.discard()

    #expect(names.count == 1 && names != ["a"])
    #expect(folder.names == ["a"])
    #expect(try folder.contents("a") == Data("1234".utf8))
  }

  @Test func `replaces an existing file only when complete, and keeps its permissions`() throws {
    let folder = try TemporaryFolder()
    try folder.write("old", to: "a")
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: folder.path("a"))

    let dropped = try OutputFile(folder.path("a"))
    try dropped.write(Data("new".utf8))
    dropped.discard()
    let afterDiscard = try folder.contents("a")
    let kept = try OutputFile(folder.path("a"))
    try kept.write(Data("new".utf8))
    try kept.finish()

    #expect(afterDiscard == Data("old".utf8))
    #expect(try folder.contents("a") == Data("new".utf8))
    #expect(folder.names == ["a"])
    let mode = try FileManager.default.attributesOfItem(atPath: folder.path("a"))[.posixPermissions] as? Int
    #expect(mode == 0o640)
  }

  @Test func `replaces the target of a symbolic link`() throws {
    let folder = try TemporaryFolder()
    try folder.write("old", to: "a")
    try FileManager.default.createSymbolicLink(atPath: folder.path("b"), withDestinationPath: folder.path("a"))

    let file = try OutputFile(folder.path("b"))
    try file.write(Data("new".utf8))
    try file.finish()

    #expect(try folder.contents("a") == Data("new".utf8))
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.path("b")) == folder.path("a"))
  }

  @Test func `creates the target of a symbolic link`() throws {
    let folder = try TemporaryFolder()
    try FileManager.default.createSymbolicLink(atPath: folder.path("b"), withDestinationPath: "a")

    let file = try OutputFile(folder.path("b"))
    try file.write(Data("new".utf8))
    try file.finish()

    #expect(try folder.contents("a") == Data("new".utf8) && folder.names == ["a", "b"])
  }

  @Test(.needs(.root)) func `refuses a symbolic link of another user`() throws {
    let folder = try TemporaryFolder()
    try folder.write("mine", to: "a")
    try FileManager.default.createSymbolicLink(atPath: folder.path("b"), withDestinationPath: "a")
    try #require(lchown(folder.path("b"), 65_534, 65_534) == 0)

    #expect(throws: UsageError.self) { try OutputFile(folder.path("b")) }
    #expect(try folder.contents("a") == Data("mine".utf8) && folder.names == ["a", "b"])
  }

  @Test func `writes to a device instead of replacing it`() throws {
    let file = try OutputFile("/dev/null")
    try file.write(Data("x".utf8))
    try file.finish()

    #expect(file.temporaryPath == nil)
  }

  #if os(Linux)
    @Test func `reports a full device`() throws {
      let file = try OutputFile("/dev/full")

      let error = #expect(throws: WriteError.self) { try file.write(Data("x".utf8)) }

      #expect(error?.code == ENOSPC)
    }
  #endif

  @Test func `reports an unwritable path before anything is written`() throws {
    let folder = try TemporaryFolder()

    for path in [folder.path("none/a"), folder.url.path, folder.path("a") + "/"] {
      let error = #expect(throws: UsageError.self) { try OutputFile(path) }
      #expect(error?.description.contains(path) ?? false)
    }
    #expect(folder.names == [])
  }
}
