#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// Programs that `SIGTERM` ends.
  @Suite(.ownThreads, .hangLimit) struct TerminationTests {
    /// A server that responds when it is opened.
    private static func server(_ isOpen: Shared<Bool>) throws -> MockServer {
      try MockServer { _ in
        await isOpen.wait { $0 }
        return .ok("last")
      }
    }

    private static func open(_ isOpen: Shared<Bool>, after server: MockServer) async throws {
      #expect(await server.wait { $0.requests.count == 1 })
      // The child has sent itself the signal by now, or does before the response arrives.
      try await Task.sleep(for: .milliseconds(200))
      isOpen.withLock { $0 = true }
    }

    @Test(arguments: Lane.engines)
    func `code that awaits the last response runs before the signal ends the process`(lane: Lane) async throws {
      let isOpen = Shared(false)
      let server = try Self.server(isOpen)
      defer { server.stop() }
      let folder = try TemporaryFolder()
      async let child: Void = {
        await #expect(processExitsWith: .signal(SIGTERM)) {
          [path = folder.path("result") as String, url = server.url as String, lane = lane as Lane] in
          let client = lane.client()
          client.drainOnTermination()
          async let signal: Void = {
            while client.activity.current.running.isEmpty { try? await Task.sleep(for: .milliseconds(2)) }
            kill(getpid(), SIGTERM)
          }()
          let text = try await client.get(RequestTarget(url)).text
          try Data(text.utf8).write(to: URL(filePath: path))
          await signal
          try await Task.sleep(for: .seconds(600))
        }
      }()
      try await Self.open(isOpen, after: server)
      await child

      #expect(try folder.contents("result") == Data("last".utf8))
    }

    @Test(arguments: Lane.engines)
    func `a program that waits for the signal ends itself, with all responses handled`(lane: Lane) async throws {
      let isOpen = Shared(false)
      let server = try Self.server(isOpen)
      defer { server.stop() }
      let folder = try TemporaryFolder()
      async let child: Void = {
        await #expect(processExitsWith: .exitCode(7)) {
          [path = folder.path("result") as String, url = server.url as String, lane = lane as Lane] in
          let (client, other) = (lane.client(), lane.client())
          other.drainOnTermination()
          let work = Task {
            let text = try await client.get(RequestTarget(url)).text
            // Longer than the process would last without the wait.
            try await Task.sleep(for: .milliseconds(600))
            try Data(text.utf8).write(to: URL(filePath: path))
          }
          let signal = Task {
            while client.activity.current.running.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            kill(getpid(), SIGTERM)
          }
          await client.waitForTermination()
          try await signal.value
          try await work.value
          for drained in [client, other] {
            let error = await #expect(throws: HTTPError.self) { try await drained.get(RequestTarget(url)) }
            #expect(error?.kind == .clientClosed)
          }
          exit(7)
        }
      }()
      try await Self.open(isOpen, after: server)
      await child

      #expect(try folder.contents("result") == Data("last".utf8))
    }

    @Test func `a cancelled wait leaves the client open`() async throws {
      await #expect(processExitsWith: .exitCode(7)) {
        let client = HTTPClient()
        let wait = Task { await client.waitForTermination() }
        wait.cancel()
        await wait.value
        #expect(!client.core.isClosed)
        exit(7)
      }
    }
  }
#endif
