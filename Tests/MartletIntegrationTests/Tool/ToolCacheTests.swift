#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  /// The tool's cache.
  @Suite(.hangLimit) struct ToolCacheTests {
    @Test func `the cache persists across runs, explains its decisions, and can be listed and cleared`() async throws {
      let server = try MockServer { _ in .ok("hello", headers: ["Cache-Control": "max-age=600"]) }
      let folder = try TemporaryFolder()
      let directory = folder.path("cache")

      let first = try await ToolProcess.martlet(server.url("/a"), "--cache", directory, "-v")
      let second = try await ToolProcess.martlet(server.url("/a"), "--cache=\(directory)", "-v")
      _ = try await ToolProcess.martlet(server.url("/b"), "--cache", directory)
      let list = try await ToolProcess.martlet("cache", "ls", directory)
      let count = try await ToolProcess.martlet("cache", "stat", directory)

      #expect(first.text == "hello" && first.errors.contains("cache: nothing is stored"), "\(first.errors)")
      #expect(
        second.text == "hello" && second.errors.contains("cache: the stored response is fresh"), "\(second.errors)")
      #expect(server.requests.count == 2)
      let lines = list.text.split(separator: "\n")
      #expect(lines.count == 2 && lines[0].hasPrefix("200") && lines[0].hasSuffix(server.url("/a")), "\(list.text)")
      #expect(count.text.hasPrefix("2 records, "), "\(count.text)")

      let removed = try await ToolProcess.martlet("cache", "rm", directory, server.url("/a"))
      let rest = try await ToolProcess.martlet("cache", "ls", directory)
      #expect(removed.status == 0 && rest.text.split(separator: "\n").count == 1, "\(rest.text)")
      _ = try await ToolProcess.martlet("cache", "rm", directory, "--all")
      let none = try await ToolProcess.martlet("cache", "ls", directory)
      #expect(none.status == 0 && none.text.isEmpty)
    }

    @Test func `rejects invalid cache commands`() async throws {
      let folder = try TemporaryFolder()

      for arguments in [["ls", folder.path("none")], ["ls"], ["rm", folder.path("x")], ["move", folder.path("x")]] {
        let result = try await ToolProcess(try ToolProcess.martlet(), ["cache"] + arguments).end()
        #expect(result.status == 2 && !result.errors.isEmpty, "\(arguments): \(result.errors)")
      }
      let url = try await ToolProcess.martlet("cache", "rm", folder.path("."), "no url")
      #expect(url.status == 1 && url.errors.contains("invalidRequest"), "\(url.errors)")
    }
  }
#endif
