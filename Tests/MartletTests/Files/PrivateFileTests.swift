import Foundation
import TestSupport
import Testing

@testable import Martlet

@Suite struct PrivateFileTests {
  @Test(arguments: [EIO, ENOSPC, EDQUOT]) func `a disk that fails to note a name is an error`(code: Int32) throws {
    let folder = try TemporaryFolder()

    let error = #expect(throws: HTTPError.self) { try PrivateFile.syncFolder(of: folder.path("a")) { _ in code } }

    #expect(error?.kind == .file && error?.message.contains("cannot be synced") == true)
  }

  @Test(arguments: [0, EINVAL, ENOTSUP]) func `a file system that cannot sync folders is no error`(code: Int32) throws {
    let folder = try TemporaryFolder()

    try PrivateFile.syncFolder(of: folder.path("a")) { _ in code }
  }
}
