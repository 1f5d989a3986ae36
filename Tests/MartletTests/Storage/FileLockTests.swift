import MartletBase
import TestSupport
import Testing

@testable import Martlet

@Suite struct FileLockTests {
  private func withPath(_ body: (String) throws -> Void) throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    try body(folder.path("lock"))
  }

  @Test func `a lock is exclusive until it is released`() throws {
    try withPath { path in
      let first = try FileLock(path, patience: 0)
      let error = #expect(throws: HTTPError.self) {
        let second = try FileLock(path, patience: 0)
        second.release()
      }
      #expect(error?.kind == .fileFailed && error?.message.contains("another process has held") == true)
      first.release()

      let third = try FileLock(path, patience: 0)
      third.release()
    }
  }

  @Test func `an invalid lock path throws a file error`() throws {
    try withPath { path in
      let error = #expect(throws: HTTPError.self) {
        let lock = try FileLock(path + "/missing/lock", patience: 0)
        lock.release()
      }
      #expect(error?.kind == .fileFailed)
    }
  }
}
