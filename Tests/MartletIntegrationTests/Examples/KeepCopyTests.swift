#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  /// The example `KeepCopy`, a daemon that ends on `SIGTERM`.
  @Suite(.hangLimit) struct KeepCopyTests {
    @Test func `the response in progress is written before the daemon ends with status 0`() async throws {
      let isOpen = Shared(false)
      let server = try MockServer { _ in
        await isOpen.wait { $0 }
        return .ok("new")
      }
      defer { server.stop() }
      let folder = try TemporaryFolder()
      let daemon = try ToolProcess(try ToolProcess.built("KeepCopy"), [server.url, folder.path("copy"), "3600"])
      #expect(await server.wait { $0.requests.count == 1 })

      daemon.send(SIGTERM)
      // The daemon has received the signal once its client refuses further requests. Nothing reports that, so the test
      // waits.
      try await Task.sleep(for: .milliseconds(300))
      #expect(daemon.isRunning)
      isOpen.withLock { $0 = true }
      let result = try await daemon.end()

      #expect(result.status == 0, "\(result.errors)")
      #expect(result.text == "1 versions\n")
      #expect(try folder.contents("copy") == Data("new".utf8))
    }

    @Test func `ends between two requests`() async throws {
      let server = try MockServer(.ok("new"))
      defer { server.stop() }
      let folder = try TemporaryFolder()
      let daemon = try ToolProcess(try ToolProcess.built("KeepCopy"), [server.url, folder.path("copy"), "3600"])
      #expect(await becomes(every: .milliseconds(5)) { (try? folder.contents("copy")) == Data("new".utf8) })

      daemon.send(SIGTERM)

      let result = try await daemon.end()
      #expect(result.status == 0, "\(result.errors)")
      #expect(server.requests.count == 1)
    }

    @Test func `a second signal ends the daemon at once`() async throws {
      let server = try MockServer(.steps([.hang]))
      defer { server.stop() }
      let folder = try TemporaryFolder()
      let daemon = try ToolProcess(try ToolProcess.built("KeepCopy"), [server.url, folder.path("copy"), "3600"])
      #expect(await server.wait { $0.requests.count == 1 })

      // The first signal may not have been handled yet, so the second one is repeated.
      #expect(
        await becomes(every: .milliseconds(50)) {
          daemon.send(SIGTERM)
          return !daemon.isRunning
        })

      #expect(try await daemon.end().status == SIGTERM)
    }
  }
#endif
