import Foundation
import MartletBase
import TestSupport
import Testing

@testable import Martlet

extension ParentFolderCalls {
  /// The calls of a system that cannot open the folder.
  static func unopened(_ code: Int32) -> Self { Self(open: { _ in -code }, sync: { _ in 0 }) }

  /// The calls of a system that opens the folder but cannot sync it.
  static func unsynced(_ code: Int32) -> Self { Self(open: Self.system.open, sync: { _ in code }) }
}

@Suite struct PrivateFileTests {
  @Test(arguments: [EIO, ENOSPC, EDQUOT]) func `a failed sync of the folder throws`(code: Int32) throws {
    let folder = try TemporaryFolder()
    let parent = try ParentFolder(of: folder.path("a"), by: .unsynced(code))

    let error = #expect(throws: HTTPError.self) { try parent.sync() }

    #expect(error?.kind == .fileFailed && error?.message.contains("cannot be synced") == true)
  }

  @Test(arguments: [0, EINVAL, ENOTSUP]) func `tolerates a file system that cannot sync folders`(code: Int32) throws {
    let folder = try TemporaryFolder()

    try ParentFolder(of: folder.path("a"), by: .unsynced(code)).sync()
  }

  @Test(arguments: [EMFILE, ENFILE, EIO, ENOMEM, EACCES])
  func `a folder that cannot be opened throws before a file is replaced or renamed`(code: Int32) throws {
    let folder = try TemporaryFolder()
    try folder.write("old", to: "a")
    try folder.write("other", to: "b")

    let replacing = #expect(throws: HTTPError.self) {
      try PrivateFile.replace(folder.path("a"), with: Data("new".utf8), calls: .unopened(code))
    }
    let renaming = #expect(throws: HTTPError.self) {
      try PrivateFile.rename(folder.path("b"), to: folder.path("a"), calls: .unopened(code))
    }
    try PrivateFile.replace(folder.path("c"), with: Data("new".utf8), isSynced: false, calls: .unopened(code))

    for error in [replacing, renaming] {
      #expect(error?.kind == .fileFailed && error?.message.contains("cannot be opened, which syncing a name") == true)
    }
    #expect(folder.names == ["a", "b", "c"])
    #expect(try folder.contents("a") == Data("old".utf8))
  }

  @Test func `tolerates EPERM from a sandbox, and EACCES if the name already exists`() throws {
    let folder = try TemporaryFolder()

    try PrivateFile.replace(folder.path("a"), with: Data("new".utf8), calls: .unopened(EPERM))
    try ParentFolder(of: folder.path("a"), isThere: true, by: .unopened(EACCES)).sync()

    #expect(throws: HTTPError.self) { try ParentFolder(of: folder.path("a"), isThere: true, by: .unopened(EMFILE)) }
    #expect(try folder.contents("a") == Data("new".utf8))
  }
}
