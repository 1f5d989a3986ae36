#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  /// The example `Courier`.
  @Suite(.needs(.shell), .hangLimit) struct CourierTests {
    private static func courier(_ folder: TemporaryFolder, _ url: String?, lines: String) throws -> ToolProcess {
      try folder.write(lines, to: "lines")
      let program = try ToolProcess.built("Courier").path
      // The program replaces the shell, so signals reach the program.
      let command =
        "exec '\(program)' '\(folder.path("queue"))' \(url.map { "'\($0)'" } ?? "") < '\(folder.path("lines"))'"
      return try TestProgram.shell.start(["-c", command])
    }

    @Test func `submitted lines arrive in order after the program is killed while the server hangs`()
      async throws
    {
      let isStuck = Shared(true)
      let server = try MockServer { _ in
        await isStuck.wait { !$0 }
        return .ok()
      }
      defer { server.stop() }
      let folder = try TemporaryFolder()
      let killed = try Self.courier(folder, server.url, lines: "one\ntwo\nthree\n")
      #expect(
        await becomes(every: .milliseconds(5)) {
          killed.outputSoFar.split(separator: "\n").count == 3 && server.requests.first?.text == "one"
        })
      #expect(killed.isRunning)
      killed.send(SIGKILL)
      _ = try await killed.end()
      isStuck.withLock { $0 = false }
      let next = try await Self.courier(folder, nil, lines: "").end()

      #expect(next.status == 0, "\(next.errors)")
      #expect(server.requests.map(\.text) == ["one", "one", "two", "three"])
      let numbers = killed.outputSoFar.split(separator: "\n").map { "\"\($0)\"" }
      #expect(server.requests.dropFirst().map { $0.header("Idempotency-Key") } == numbers)
    }

    @Test func `reports lines that cannot be delivered`() async throws {
      let folder = try TemporaryFolder()
      let server = try MockServer(.status(400))
      defer { server.stop() }
      let result = try await Self.courier(folder, server.url, lines: "bad\n").end()
      #expect(result.errors.contains("could not be delivered: the server responded with 400"), "\(result.errors)")
    }
  }
#endif
