import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet
@testable import MartletOutbox

/// An outbox whose folder is faulty, or whose files change while requests are sent.
@Suite(.hangLimit) struct OutboxTroubleTests {
  /// A server that holds requests to `held` until its gate opens.
  private final class Server: Sendable {
    let visits = Log<String>()
    let gate = TestSupport.Gate()

    func client() -> HTTPClient {
      HTTPClient {
        $0.timeout = .unlimited
        $0.random = { 0 }
        $0.transport = StubTransport { request in
          let path = request.url?.lastPathComponent ?? ""
          self.visits.add(path)
          if path == "held" { await self.gate.pass() }
          try Task.checkCancellation()
          return .status(204)
        }
      }
    }
  }

  private static func post(_ path: String, _ count: Int = 1) -> HTTPRequest {
    .post(RequestTarget("https://api.test/\(path)"), body: .text(String(repeating: "x", count: count)))
  }

  /// The size of a body that is stored in its own file.
  private static let large = 70_000

  @Test func `a delivery that cannot be recorded is recorded later and not resent`() async throws {
    let (folder, server) = (try OutboxFolder(), Server())
    let outbox = try await server.client().outbox(at: folder.url)
    var events = outbox.events.makeAsyncIterator()
    try await outbox.submit(Self.post("held"))
    await server.gate.waitForArrivals(1)
    // A folder in place of the lock file prevents all writes.
    let lock = folder.url.appending(path: "lock")
    try FileManager.default.removeItem(at: lock)
    try FileManager.default.createDirectory(at: lock, withIntermediateDirectories: false)
    server.gate.open()
    while let event = await events.next() { if case .problem = event { break } }

    try FileManager.default.removeItem(at: lock)
    outbox.retryNow()
    await outbox.waitUntilIdle()
    await outbox.close()

    #expect(server.visits.elements == ["held"])
    #expect(outbox.status.delivered == 1 && outbox.status.pending == 0)
  }

  @Test func `truncates an incomplete record before appending another one`() async throws {
    let folder = try OutboxFolder()
    let lines = try [OutboxLine.sample(Data(count: 1)), .sample(Data(count: 5_000))]
    do { _ = try OutboxJournal(folder.url).append(lines, isSynced: false) }
    try folder.overwrite(folder.journalBytes().dropLast(100))

    // The new record is shorter than the rest of the truncated record.
    let news = try OutboxJournal(folder.url).append([.sample(Data(count: 2))], isSynced: false)
    let next = try OutboxJournal(folder.url).catchUp()

    #expect(news.changes.count == 2 && news.damaged == 0)
    #expect(next.changes.count == 2 && next.damaged == 0)
    #expect(try folder.journalBytes().count < 1_000)
  }

  @Test func `a request with a truncated body file becomes a dead letter unsent`() async throws {
    let (folder, server) = (try OutboxFolder(), Server())
    let outbox = try await server.client().outbox(at: folder.url)
    try await outbox.submit(Self.post("held"), key: "k")
    let id = try await outbox.submit(Self.post("large", Self.large), key: "k")
    await server.gate.waitForArrivals(1)
    let file = try FileHandle(forWritingTo: folder.url.appending(path: "\(id.uuidString).body"))
    try file.truncate(atOffset: 1000)
    try file.close()

    server.gate.open()
    await outbox.waitUntilIdle()

    #expect(server.visits.elements == ["held"])
    #expect(try await outbox.deadLetters().map(\.id) == [id])
  }

  @Test func `a request that is being sent cannot be removed`() async throws {
    let (folder, server) = (try OutboxFolder(), Server())
    let outbox = try await server.client().outbox(at: folder.url)
    let id = try await outbox.submit(Self.post("held"))
    await server.gate.waitForArrivals(1)

    #expect(try await !outbox.remove(id))

    server.gate.open()
    await outbox.waitUntilIdle()
    #expect(outbox.status.delivered == 1)
    #expect(try await !outbox.remove(id))
  }

  @Test func `deletes a body file together with its request`() async throws {
    let (folder, server) = (try OutboxFolder(), Server())
    let outbox = try await server.client().outbox(at: folder.url)
    try await outbox.submit(Self.post("held"), key: "k")
    let removed = try await outbox.submit(Self.post("removed", Self.large), key: "k")
    try await outbox.submit(Self.post("delivered", Self.large), key: "k")
    await server.gate.waitForArrivals(1)
    #expect(folder.names.count == 3)

    #expect(try await outbox.remove(removed))
    #expect(folder.names.count == 2)
    server.gate.open()
    await outbox.waitUntilIdle()
    await outbox.close()

    #expect(server.visits.elements == ["held", "delivered"])
    #expect(folder.names == ["journal"])
  }

  @MainActor @Test func `a closing outbox rejects submissions`() async throws {
    let (folder, server) = (try OutboxFolder(), Server())
    let outbox = try await server.client().outbox(at: folder.url)
    try await outbox.submit(Self.post("held"))
    await server.gate.waitForArrivals(1)
    let closing = Task { await outbox.close() }
    // Closing has begun after the yield, because both tasks run on the main actor.
    await Task.yield()

    let error = await #expect(throws: HTTPError.self) { try await outbox.submit(Self.post("late")) }

    #expect(error?.kind == .clientClosed)
    server.gate.open()
    await closing.value
    #expect(server.visits.elements == ["held"])
    let next = try await server.client().outbox(at: folder.url)
    #expect(next.status.pending == 0)
  }

  @Test func `a body that fails while it is stored leaves no file`() async throws {
    struct Broken: Error {}
    let (folder, server) = (try OutboxFolder(), Server())
    let outbox = try await server.client().outbox(at: folder.url)
    let body = HTTPBody.stream { () -> AsyncThrowingStream<Data, any Error> in
      let count = Shared(0)
      return AsyncThrowingStream {
        let number = count.withLock { count in
          count += 1
          return count
        }
        if number > 8 { throw Broken() }
        return Data(count: 50_000)
      }
    }

    await #expect(throws: Broken.self) { try await outbox.submit(.post("https://api.test/a", body: body)) }

    #expect(folder.names == ["journal"])
    #expect(outbox.status.pending == 0)
  }
  /// A client whose responses have a body that never arrives.
  private static func client(_ status: HTTPStatus, _ clock: TestClock, _ body: TestSupport.Gate) -> HTTPClient {
    HTTPClient.stubbed(
      StubTransport { _ in
        .streamed(status) {
          await body.pass()
          return nil
        }
      }, clock: clock
    ) { $0.timeout = .unlimited }
  }

  @Test func `waits at most 10 s for the body of a response`() async throws {
    let (folder, clock, body) = (try OutboxFolder(), TestClock(advancing: .manually), TestSupport.Gate())
    let outbox = try await Self.client(.ok, clock, body).outbox(at: folder.url)
    try await outbox.submit(Self.post("a"))
    await body.waitForArrivals(1)
    // One sleeper is the body's limit, the other is the interval of the loop.
    await clock.wait(forSleepers: 2)

    clock.advance(by: .seconds(10))
    await outbox.waitUntilIdle()

    #expect(outbox.status.delivered == 1)
    await outbox.close()
  }

  @Test(arguments: [HTTPStatus.ok, .badRequest])
  func `a response counts even if the outbox is stopped while its body arrives`(_ status: HTTPStatus) async throws {
    let (folder, clock, body) = (try OutboxFolder(), TestClock(advancing: .manually), TestSupport.Gate())
    let outbox = try await Self.client(status, clock, body).outbox(at: folder.url)
    try await outbox.submit(Self.post("a"))
    await body.waitForArrivals(1)

    await outbox.close(within: .zero)

    let next = try await Self.client(status, clock, body).outbox(at: folder.url)
    #expect(next.status.pending == 0)
    #expect(try await next.deadLetters().count == (status.isSuccess ? 0 : 1))
  }
}
