#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import Martlet

  /// A credential file that several processes share.
  @Suite(.ownThreads, .hangLimit) struct CredentialFileTests {
    private static func space(_ name: String, _ number: Int) -> ProtectionSpace {
      ProtectionSpace(scheme: "https", host: "\(name)\(number).test", port: 443)
    }

    static func fill(_ path: String, _ name: String, _ count: Int) async throws {
      let store = Authenticators.FileCredentialStore(URL(filePath: path))
      for number in 0..<count { try await store.set(.user(name, password: "p"), for: space(name, number)) }
    }

    @Test func `two processes that write at the same time lose no credentials`() async throws {
      let folder = try TemporaryFolder()
      let path = folder.path("credentials")

      await withTaskGroup { group in
        for name in ["one", "two"] {
          group.addTask {
            await #expect(processExitsWith: .success) { [path = path as String, name = name as String] in
              try await CredentialFileTests.fill(path, name, 100)
            }
          }
        }
      }

      let store = Authenticators.FileCredentialStore(URL(filePath: path))
      for name in ["one", "two"] {
        for number in 0..<100 {
          let found = try await store.credential(for: Self.space(name, number))
          #expect(found == .user(name, password: "p"), "\(name) \(number)")
        }
      }
      #expect(folder.names == ["credentials", "credentials.lock"])
    }

    @Test func `a killed writer leaves an intact file, and the next change removes its leftovers`() async throws {
      let folder = try TemporaryFolder()
      let path = folder.path("credentials")
      let store = Authenticators.FileCredentialStore(URL(filePath: path))
      for number in 0..<40 {
        try await store.set(.user("u", password: String(repeating: "x", count: 2_000)), for: Self.space("a", number))
      }
      var random = SystemRandomNumberGenerator()

      for round in 0..<Stress.count(5, full: 100) {
        let delay = UInt32.random(in: 1...30_000, using: &random)
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, delay = delay as UInt32] in
          let killer = Thread {
            usleep(delay)
            kill(getpid(), SIGKILL)
          }
          killer.start()
          for _ in 0..<100_000 { try await CredentialFileTests.fill(path, "b", 1) }
        }

        let kept = try await store.credential(for: Self.space("a", 39))
        try await store.set(.user("u", password: "p"), for: Self.space("c", 0))
        #expect(kept?.user == "u", "round \(round)")
        #expect(folder.names == ["credentials", "credentials.lock"], "round \(round)")
      }
    }
  }
#endif
