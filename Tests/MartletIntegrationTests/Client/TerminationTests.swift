#if os(Linux)
  import Foundation
  import MartletTesting
  import Synchronization
  import TestSupport
  import Testing

  @testable import Martlet

  /// Programs that end on `SIGTERM`.
  @Suite(.ownThreads, .hangLimit) struct TerminationTests {
    /// Returns a server that responds once it is opened.
    private static func server(_ isOpen: Shared<Bool>) throws -> MockServer {
      try MockServer { _ in
        await isOpen.wait { $0 }
        return .ok("last")
      }
    }

    /// Sends this process `SIGTERM` during a request, and saves the response.
    private static func outlast(_ client: HTTPClient, _ url: String, _ path: String) async throws {
      async let signal: Void = {
        while client.activity.current.running.isEmpty { try? await Task.sleep(for: .milliseconds(2)) }
        kill(getpid(), SIGTERM)
      }()
      let text = try await client.get(RequestTarget(url)).text
      try Data(text.utf8).write(to: URL(filePath: path))
      await signal
      try await Task.sleep(for: .seconds(600))
    }

    private static func open(
      _ isOpen: Shared<Bool>, after server: MockServer, _ pause: Duration = .milliseconds(200)
    ) async throws {
      #expect(await server.wait { $0.requests.count == 1 })
      // By now, the child has sent itself the signal, or it does so before the response arrives.
      try await Task.sleep(for: pause)
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
          try await Self.outlast(client, url, path)
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
            // Takes longer than the process would survive without the wait.
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

    @Test(arguments: [false, true])
    func `a signal before or after the registration of its source is not lost`(isEarly: Bool) async throws {
      await #expect(processExitsWith: .signal(SIGTERM)) { [isEarly = isEarly as Bool] in
        TerminationDrain.add(HTTPClient.shared.core, .seconds(10)) {
          guard isEarly else { return }
          kill(getpid(), SIGTERM)
          // Another thread receives the signal.
          while !TerminationDrain.isEarly.load(ordering: .relaxed) { usleep(1000) }
        }
        if !isEarly { kill(getpid(), SIGTERM) }
        try await Task.sleep(for: .seconds(600))
      }
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

    @Test func `a cancelled wait leaves drainOnTermination in force`() async throws {
      let isOpen = Shared(false)
      let server = try Self.server(isOpen)
      defer { server.stop() }
      let folder = try TemporaryFolder()
      async let child: Void = {
        await #expect(processExitsWith: .signal(SIGTERM)) {
          [path = folder.path("result") as String, url = server.url as String] in
          let client = Lane.curl.client()
          client.drainOnTermination()
          let wait = Task { await client.waitForTermination() }
          wait.cancel()
          await wait.value
          try await Self.outlast(client, url, path)
        }
      }()
      // Takes longer than the process would survive without the drain.
      try await Self.open(isOpen, after: server, .milliseconds(800))
      await child

      #expect(try folder.contents("result") == Data("last".utf8))
    }

    @Test(arguments: [false, true])
    func `a wait drains the client even if a later wait is cancelled or shorter`(isCancelled: Bool) async throws {
      let isOpen = Shared(false)
      let server = try Self.server(isOpen)
      defer { server.stop() }
      let folder = try TemporaryFolder()
      async let child: Void = {
        await #expect(processExitsWith: .exitCode(7)) {
          [path = folder.path("result") as String, url = server.url as String, isCancelled = isCancelled as Bool] in
          let client = Lane.curl.client()
          let work = Task {
            let text = try await client.get(RequestTarget(url)).text
            try Data(text.utf8).write(to: URL(filePath: path))
          }
          while client.activity.current.running.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
          // Both tasks run on one actor, so they register in this order.
          let wait = Task { @MainActor in await client.waitForTermination(timeout: .seconds(50)) }
          let other = Task { @MainActor in await client.waitForTermination(timeout: .milliseconds(1)) }
          await Task { @MainActor in }.value
          if isCancelled {
            other.cancel()
            await other.value
          }
          kill(getpid(), SIGTERM)
          await wait.value
          let isDrained = client.core.isClosed
          try await work.value
          exit(isDrained ? 7 : 8)
        }
      }()
      try await Self.open(isOpen, after: server)
      await child

      #expect(try folder.contents("result") == Data("last".utf8))
    }
  }
#endif
