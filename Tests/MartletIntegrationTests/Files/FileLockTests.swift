import Foundation
import MartletBase
import TestSupport
import Testing

@testable import Martlet

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

@Suite(.hangLimit) struct FileLockTests {
  // F42
  @Test(.needs(.root)) func `another user's lock file is refused without waiting, and saving cookies reports it`()
    async throws
  {
    let folder = try TemporaryFolder()
    let file = folder.url.appending(path: "cookies")
    try folder.write("", to: "cookies.lock")
    let path = folder.path("cookies.lock")
    try #require(chown(path, 65_534, 65_534) == 0)
    // The owner holds the lock forever.
    let other = open(path, O_RDONLY)
    defer { close(other) }
    try #require(flock(other, LOCK_EX | LOCK_NB) == 0)

    let waiting = #expect(throws: HTTPError.self) {
      let lock = try FileLock(path, patience: 3_600_000)
      lock.release()
    }
    let jar = CookieJar(file: file)
    let saving = await #expect(throws: HTTPError.self) { try await jar.save() }

    #expect(waiting?.kind == .fileFailed && waiting?.message.contains("belongs to another user") == true)
    #expect(saving?.message == waiting?.message && folder.names == ["cookies.lock"])
  }
}
