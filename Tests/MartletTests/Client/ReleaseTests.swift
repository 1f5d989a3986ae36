import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

/// After any use has ended, an unreferenced client is released.
@Suite(.hangLimit) struct ReleaseTests {
  /// A complete use of a client.
  struct Use: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let run: @Sendable (HTTPClient) async throws -> Void

    init(_ name: String, _ run: @escaping @Sendable (HTTPClient) async throws -> Void) {
      testDescription = name
      self.run = run
    }
  }

  static let uses: [Use] = [
    Use("an answer") { _ = try await $0.get("/text") },
    Use("a status that is not accepted") { _ = try? await $0.get("/missing") },
    Use("retries") {
      _ = try? await $0.get("/busy", options: .retry(.backoff(attempts: 3, initialDelay: .milliseconds(1))))
    },
    Use("a redirect") { _ = try await $0.get("/away") },
    Use("a loop of redirects") { _ = try? await $0.get("/loop") },
    Use("credentials that are asked for") { _ = try await $0.get("/secret") },
    Use("a fresh response that is stored") { client in for _ in 0..<2 { _ = try await client.get("/fresh") } },
    Use("a stored response that is confirmed") { client in for _ in 0..<3 { _ = try await client.get("/stale") } },
    Use("questions about a stored response, whose first asker leaves at any moment") { client in
      _ = try await client.get("/slowly")
      for number in 0..<Stress.count(50, full: 500) {
        let tasks = (0..<4).map { _ in Task { try await client.get("/slowly") } }
        for _ in 0..<number % 50 { await Task.yield() }
        tasks[0].cancel()
        for task in tasks.dropFirst() { #expect(try await task.value.text == "stale") }
        _ = try? await tasks[0].value
      }
    },
    Use("a stored response that is refreshed") { client in
      for _ in 0..<3 { _ = try await client.get("/stale", options: .cache([.staleWhileRevalidate])) }
    },
    Use("a stored response instead of a failure") { client in
      for _ in 0..<3 { _ = try? await client.get("/failing", options: .cache([.fallbackOnError])) }
    },
    Use("the same response for many") { client in
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<8 { group.addTask { _ = try? await client.get("/fresh") } }
      }
    },
    Use("a body that is read as it comes") { client in
      try await client.stream(.get("/pieces")) { for try await _ in $0.body {} }
    },
    Use("a body that nobody reads") { try await $0.stream(.get("/pieces")) { _ in } },
    Use("a handle with its events") { client in
      let handle = client.start(.get("/text"))
      for await _ in handle.events {}
      _ = try await handle.value
    },
    Use("a handle that is cancelled") { client in
      let handle = client.start(.get("/hang"))
      handle.cancel()
      _ = try? await handle.value
    },
    Use("a task that is cancelled") { client in
      let task = Task { try await client.get("/hang") }
      await client.wait { client.activity.current.running.count == 1 }
      task.cancel()
      _ = try? await task.value
    },
    Use("a limit that has passed") { client in
      let clock = try #require(client.configuration.clock as? TestClock)
      let task = Task { try await client.get("/hang", options: .timeout(.seconds(20))) }
      await client.wait { client.activity.current.running.count == 1 }
      clock.advance(by: .seconds(20))
      let error = await #expect(throws: HTTPError.self) { try await task.value }
      #expect(error?.kind == .timedOut)
    },
    Use("a scope") { client in _ = await withRequestScope(client: client) { $0.start(.get("/hang")) } },
    Use("a download") { client in
      try TemporaryFolder.requireRoom()
      let file = try await client.download("/text")
      try FileManager.default.removeItem(at: file.url)
    },
    Use("server-sent events") { client in
      for try await _ in client.serverSentEvents(.get("/events")) { break }
    },
    Use("a queue") { client in
      let queue = RequestQueue(client: client)
      for _ in 0..<8 { queue.add(.get("/text")) }
      _ = await queue.finish()
    },
    Use("a derived client") { _ = try await $0.derived { $0.headers["X"] = "y" }.get("/text") },
  ]

  /// A server for all uses above; its closure retains a signal.
  private static func transport(_ signal: ReleaseSignal) -> StubTransport {
    let failures = Locked(0)
    return StubTransport { request in
      defer { withExtendedLifetime(signal) {} }
      switch request.url?.path {
      case "/missing": return .text("", status: .notFound)
      case "/busy": return .text("", status: .serviceUnavailable)
      case "/away": return .redirect(to: "/text")
      case "/loop": return .redirect(to: "/loop")
      case "/secret":
        guard request.headers["Authorization"] == nil else { return .text("ok") }
        return .text("", status: .unauthorized, headers: ["WWW-Authenticate": "Basic realm=\"a\""])
      case "/fresh": return .text("fresh", headers: ["Cache-Control": "max-age=600"])
      case "/stale", "/slowly":
        if request.url?.path == "/slowly" { for _ in 0..<20 { await Task.yield() } }
        let fields: HTTPHeaders = ["Cache-Control": "max-age=0, stale-while-revalidate=600", "ETag": "\"1\""]
        if request.headers.contains("If-None-Match") { return .status(.notModified, headers: fields) }
        return .text("stale", headers: fields)
      case "/failing":
        let count = failures.withLock { count in
          count += 1
          return count
        }
        guard count > 1 else {
          return .text("good", headers: ["Cache-Control": "max-age=0, stale-if-error=600", "ETag": "\"1\""])
        }
        return count == 2 ? .text("", status: .badGateway) : .failure(HTTPError(.connectionLost, "gone"))
      case "/pieces":
        let rest = Locked([Data("a".utf8), Data("b".utf8)])
        return .streamed { rest.withLock { $0.popLast() } }
      case "/events": return .text("data: a\n\ndata: b\n\n", headers: ["Content-Type": "text/event-stream"])
      case "/hang":
        _ = try? await untilCancelled()
        return .text("late")
      default: return .text("text")
      }
    }
  }

  @Test(arguments: uses) func `a client is released after use`(_ use: Use) async throws {
    let isReleased = Gate()
    var client: HTTPClient? = HTTPClient.stubbed(Self.transport(ReleaseSignal { isReleased.open() })) {
      $0.authenticators[.baseURL] = .ask { _ in .user("u", password: "p") }
    }
    weak let core = client?.core

    if let client { try await use.run(client) }
    client = nil

    await isReleased.pass()
    #expect(core == nil)
  }
}
