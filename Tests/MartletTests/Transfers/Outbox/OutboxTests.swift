import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet
@testable import MartletOutbox

@Suite(.hangLimit) struct OutboxTests {
  /// A server that logs requests and sends the responses that a test sets.
  private final class Server: Sendable {
    struct Visit: Sendable {
      var path: String
      var idempotencyKey: String?
      var text: String
      var headers: HTTPHeaders
    }

    private let log = Log<Visit>()
    private let answers = Locked<[String: [StubResponse]]>([:])
    private let held = Shared(false)

    var visits: [Visit] { log.elements }
    var paths: [String] { visits.map(\.path) }

    /// Waits until this many requests have arrived.
    func waitForVisits(_ count: Int) async { await log.wait(for: count) }

    /// Sets the next responses to a path, after which the path succeeds again.
    func answer(_ path: String, _ responses: StubResponse...) { answers.withLock { $0[path] = responses } }

    func hold(_ isHeld: Bool) { held.withLock { $0 = isHeld } }

    func client(_ configure: @Sendable (inout HTTPClient.Configuration) -> Void = { _ in }) -> HTTPClient {
      HTTPClient.onTestClock {
        $0.now = { FreshnessTests.start }
        $0.timeout = .unlimited
        $0.random = { 0 }
        $0.transport = StubTransport { request in
          var text = ""
          if case .data(let data) = request.body?.content { text = String(decoding: data, as: UTF8.self) }
          if case .file(let url) = request.body?.content {
            text = (try? String(contentsOf: url, encoding: .utf8)) ?? "missing"
          }
          let path = request.url?.lastPathComponent ?? ""
          self.log.add(
            Visit(
              path: path, idempotencyKey: request.headers["Idempotency-Key"], text: text, headers: request.headers))
          await self.held.wait { !$0 }
          try Task.checkCancellation()
          let answer: StubResponse? = self.answers.withLock { answers in
            guard let first = answers[path]?.first else { return nil }
            answers[path]?.removeFirst()
            return first
          }
          return answer ?? .status(204)
        }
        configure(&$0)
      }
    }
  }

  private static func options(_ change: (inout Outbox.Options) -> Void) -> Outbox.Options {
    var options = Outbox.Options()
    change(&options)
    return options
  }

  /// Logs the failed attempts that the outbox reports from now on.
  private static func failures(_ outbox: Outbox) -> Log<String> {
    let (failures, events) = (Log<String>(), outbox.events)
    Task {
      for await event in events { if case .failed(_, let failure, _) = event { failures.add("\(failure)") } }
    }
    return failures
  }

  private static func post(_ path: String, _ text: String = "x") -> HTTPRequest {
    .post(RequestTarget("https://api.test/\(path)"), body: .text(text))
  }

  @Test func `delivers requests in order by key, each with its own Idempotency-Key`() async throws {
    let (folder, server) = (try OutboxFolder(), Server())
    let outbox = try await server.client().outbox(at: folder.url)
    var ids: [UUID] = []
    for number in 0..<20 { ids.append(try await outbox.submit(Self.post("a", "\(number)"), key: "k")) }
    await outbox.waitUntilIdle()

    #expect(server.visits.map(\.text) == (0..<20).map { "\($0)" })
    #expect(server.visits.map(\.idempotencyKey) == ids.map { "\"\($0.uuidString)\"" })
    #expect(server.visits.first?.headers["Content-Type"] == "text/plain; charset=utf-8")
    #expect(outbox.status.pending == 0 && outbox.status.delivered == 20 && outbox.status.bytes == 0)
    #expect(outbox.status.isSender)
  }

  @Test func `the next outbox delivers pending requests with the same Idempotency-Key`() async throws {
    let (folder, server) = (try OutboxFolder(), Server())
    let first = try await server.client().outbox(
      at: folder.url, options: Self.options { $0.connectivity = Network([.disconnected]) })
    let large = String(repeating: "b", count: 100_000)
    let ids = [
      try await first.submit(Self.post("a", "small")), try await first.submit(Self.post("b", large), key: "k"),
    ]
    #expect(first.status.pending == 2)
    await first.close()
    #expect(server.visits.isEmpty)
    #expect(folder.names == ["\(ids[1].uuidString).body", "journal"])

    let next = try await server.client().outbox(at: folder.url)
    await next.waitUntilIdle()

    #expect(Set(server.visits.map(\.text)) == ["small", large])
    #expect(Set(server.visits.map(\.idempotencyKey)) == Set(ids.map { "\"\($0.uuidString)\"" }))
    #expect(folder.names == ["journal"])
  }

  @Test func `retries a failing host, and delivers to other hosts`() async throws {
    let (folder, server) = (try OutboxFolder(), Server())
    server.answer("a", .status(503), .failure(HTTPError(.cannotConnect, "refused")), .status(429))
    let outbox = try await server.client().outbox(at: folder.url)
    let failures = Self.failures(outbox)
    try await outbox.submit(Self.post("a", "1"), key: "k")
    try await outbox.submit(Self.post("a", "2"), key: "k")
    try await outbox.submit(.put("https://other.test/b", body: .text("3")))
    await outbox.waitUntilIdle()

    #expect(server.visits.filter { $0.path == "a" }.map(\.text) == ["1", "1", "1", "1", "2"])
    await failures.wait(for: 3)
    #expect(
      failures.elements == ["the server responded with 503", "cannotConnect: refused", "the server responded with 429"])
    #expect(outbox.status.delivered == 3)
  }

  @Test func `requests that fail permanently become dead letters that can be retried or removed`()
    async throws
  {
    let (folder, server) = (try OutboxFolder(), Server())
    server.answer("bad", .status(400))
    server.answer("ill", .status(500), .status(500), .status(500))
    let options = Self.options { $0.maximumAttempts = 3 }
    var outbox: Outbox? = try await server.client().outbox(at: folder.url, options: options)
    let bad = try await outbox?.submit(Self.post("bad"), key: "k")
    let ill = try await outbox?.submit(Self.post("ill"))
    try await outbox?.submit(Self.post("good"), key: "k")
    await outbox?.waitUntilIdle()

    #expect(server.paths.filter { $0 == "ill" }.count == 3 && server.paths.contains("good"))
    // Dead letters survive the end of the process.
    await outbox?.close()
    outbox = nil
    let again = try await server.client().outbox(at: folder.url, options: options)
    let dead = try await again.deadLetters().sorted { $0.attempts < $1.attempts }
    #expect(dead.map(\.id) == [bad, ill] && dead.map(\.attempts) == [1, 3] && dead.first?.key == "k")
    #expect(dead.map(\.failure) == [.status(.badRequest), .status(.internalServerError)])
    #expect(dead.first?.request.url?.path == "/bad" && again.status.dead == 2)

    #expect(try await again.retry(try #require(bad)))
    await again.waitUntilIdle()
    #expect(server.paths.filter { $0 == "bad" }.count == 2)
    #expect(try await again.remove(try #require(ill)))
    let isLeft = try await again.remove(try #require(ill))
    let isBack = try await again.retry(try #require(ill))
    #expect(!isLeft && !isBack)
    #expect(again.status.dead == 0 && again.status.bytes == 0)
  }

  @Test func `an expired request becomes a dead letter`() async throws {
    let (folder, server) = (try OutboxFolder(), Server())
    let date = Locked(Date(timeIntervalSince1970: 1_700_000_000))
    let network = Network([.disconnected])
    let client = server.client { $0.now = { date.withLock { $0 } } }
    let outbox = try await client.outbox(at: folder.url, options: Self.options { $0.connectivity = network })
    try await outbox.submit(Self.post("a"))
    date.withLock { $0 += 7 * 24 * 3600 + 1 }
    await network.deliver(.connected)
    await outbox.waitUntilIdle()

    #expect(server.visits.isEmpty)
    #expect(try await outbox.deadLetters().map(\.failure) == [.expired])
  }

  @Test func `sends nothing without a network, and retries as soon as it returns`() async throws {
    let (folder, server) = (try OutboxFolder(), Server())
    server.answer("a", .failure(HTTPError(.cannotConnect, "no network")))
    let network = Network([.unknown])
    let options = Self.options {
      $0.connectivity = network
      ($0.initialDelay, $0.maximumDelay) = (.seconds(600), .seconds(600))
    }
    let outbox = try await server.client().outbox(at: folder.url, options: options)
    let failures = Self.failures(outbox)
    try await outbox.submit(Self.post("a"))
    await failures.wait(for: 1)
    await network.deliver(.disconnected)
    try await outbox.submit(.post("https://other.test/b"))
    // The outbox handles this call in the round after the submission.
    _ = try await outbox.deadLetters()
    #expect(server.visits.count == 1 && outbox.status.sending == 0 && outbox.status.pending == 2)
    await network.deliver(.connected)
    await outbox.waitUntilIdle()

    #expect(server.visits.count == 3)
  }

  @Test func `retryNow ends the delay of a host`() async throws {
    let (folder, server) = (try OutboxFolder(), Server())
    server.answer("a", .status(503, headers: ["Retry-After": "3000"]))
    let outbox = try await server.client().outbox(at: folder.url)
    let failures = Self.failures(outbox)
    try await outbox.submit(Self.post("a"))
    await failures.wait(for: 1)
    outbox.retryNow()
    await outbox.waitUntilIdle()

    #expect(server.visits.count == 2)
  }

  @Test func `delays follow the client's clock`() async throws {
    let (folder, server) = (try OutboxFolder(), Server())
    server.answer("a", .status(503), .status(503), .status(503))
    let clock = TestClock()
    let outbox = try await server.client { $0.clock = clock }.outbox(at: folder.url)
    try await outbox.submit(Self.post("a"))
    await outbox.waitUntilIdle()

    #expect(server.visits.count == 4)
    #expect(clock.now.offset >= .seconds(6))
  }

  @Test func `invalid submissions throw and store nothing`() async throws {
    let (folder, server) = (try OutboxFolder(), Server())
    let outbox = try await server.client().outbox(at: folder.url, options: Self.options { $0.maximumBytes = 300_000 })
    func kind(_ request: HTTPRequest) async -> HTTPError.Kind? {
      do {
        try await outbox.submit(request)
        return nil
      } catch {
        return (error as? HTTPError)?.kind
      }
    }
    #expect(await kind(.post("/relative")) == .invalidRequest)
    #expect(await kind(.post("https://me:secret@api.test/")) == .invalidRequest)
    #expect(await kind(.post("https://api.test/", headers: ["A": "b\r\nc"])) == .invalidRequest)
    #expect(await kind(.post("https://api.test/", body: .file(folder.url.appending(path: "none")))) == .fileFailed)
    #expect(await kind(.post("https://api.test/", body: .data(Data(count: 300_001)))) == .bodyTooLarge)
    let endless = AsyncStream<Data> { continuation in
      for _ in 0..<100 { continuation.yield(Data(count: 10_000)) }
      continuation.finish()
    }
    #expect(await kind(.post("https://api.test/", body: .stream(endless))) == .bodyTooLarge)
    #expect(folder.names == ["journal"] && outbox.status.pending == 0 && server.visits.isEmpty)

    server.hold(true)
    #expect(await kind(.post("https://api.test/", body: .data(Data(count: 200_000)))) == nil)
    #expect(await kind(.post("https://api.test/", body: .data(Data(count: 200_000)))) == .queueFailed)
    #expect(outbox.status.pending == 1)
    server.hold(false)
    await outbox.waitUntilIdle()
    #expect(await kind(.post("https://api.test/", body: .data(Data(count: 200_000)))) == nil)
    await outbox.close()
    #expect(await kind(.post("https://api.test/")) == .clientClosed)
  }

  @Test func `rejects invalid options and unsuitable folders`() async throws {
    let (folder, server) = (try OutboxFolder(), Server())
    func kind(_ url: URL, _ change: (inout Outbox.Options) -> Void = { _ in }) async -> HTTPError.Kind? {
      do {
        _ = try await server.client().outbox(at: url, options: Self.options(change))
        return nil
      } catch {
        return (error as? HTTPError)?.kind
      }
    }
    #expect(await kind(folder.url) { $0.maximumAttempts = 0 } == .invalidRequest)
    #expect(await kind(folder.url) { $0.initialDelay = .zero } == .invalidRequest)
    #expect(await kind(folder.url) { $0.maximumDelay = .zero } == .invalidRequest)
    #expect(await kind(folder.url) { $0.maximumAge = .zero } == .invalidRequest)
    #expect(await kind(folder.url) { $0.maximumBytes = 0 } == .invalidRequest)
    #expect(await kind(try #require(URL(string: "https://a.test/"))) == .fileFailed)
    try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
    try Data("something else, and long enough to be taken for one".utf8).write(to: folder.journal)
    #expect(await kind(folder.url) == .fileFailed)
    try FileManager.default.removeItem(at: folder.journal)
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.url.path)
    #expect(await kind(folder.url) == .fileFailed)
  }

  @Test func `stores streams and files at submission and resends them unchanged`() async throws {
    let (folder, server) = (try OutboxFolder(), Server())
    let other = try OutboxFolder()
    try FileManager.default.createDirectory(at: other.url, withIntermediateDirectories: true)
    let file = other.url.appending(path: "file")
    try Data("from a file".utf8).write(to: file)
    let stream = AsyncStream<Data> { continuation in
      for _ in 0..<10 { continuation.yield(Data(repeating: 0x61, count: 10_000)) }
      continuation.finish()
    }
    server.answer("s", .status(500))
    server.hold(true)
    let outbox = try await server.client().outbox(at: folder.url)
    try await outbox.submit(.post("https://api.test/f", body: .file(file)))
    try await outbox.submit(.post("https://b.test/s", body: .stream(stream)))
    try FileManager.default.removeItem(at: file)
    server.hold(false)
    await outbox.waitUntilIdle()

    #expect(server.visits.filter { $0.path == "f" }.map(\.text) == ["from a file"])
    #expect(server.visits.filter { $0.path == "s" }.map(\.text.count) == [100_000, 100_000])
    #expect(folder.names == ["journal"])
  }

  @Test func `a request with a missing body file becomes a dead letter`() async throws {
    let (folder, server) = (try OutboxFolder(), Server())
    let network = Network([.disconnected])
    let outbox = try await server.client().outbox(
      at: folder.url, options: Self.options { $0.connectivity = network })
    let id = try await outbox.submit(
      .post("https://api.test/", body: .text(String(repeating: "a", count: 70_000))))
    try FileManager.default.removeItem(at: folder.url.appending(path: "\(id.uuidString).body"))
    await network.deliver(.connected)
    await outbox.waitUntilIdle()

    #expect(
      try await outbox.deadLetters().first?.failure == .unreadable("its body file is missing or was replaced"))
    #expect(server.visits.isEmpty)
  }

  @Test func `draining the client stops its outbox and keeps pending requests`() async throws {
    let (folder, server) = (try OutboxFolder(), Server())
    server.hold(true)
    let clock = TestClock(advancing: .manually)
    let client = server.client { $0.clock = clock }
    let outbox = try await client.outbox(at: folder.url)
    for _ in 0..<10 { try await outbox.submit(Self.post("a")) }
    await server.waitForVisits(2)
    await client.wait(until: { client.activity.current.outbox.sending == 2 })
    #expect(client.activity.current.outbox.pending == 10)
    let draining = Task { await client.drain(timeout: .seconds(20)) }
    // One sleeper is the drain limit, the other is the interval of the folder checks.
    await clock.wait(forSleepers: 2)
    #expect(client.activity.current.running.count == 2)
    clock.advance(by: .seconds(20))
    await draining.value

    #expect(client.activity.current.running.isEmpty)
    let again = try await server.client().outbox(at: folder.url)
    #expect(again.status.pending == 10)
    server.hold(false)
    await again.waitUntilIdle()
    await #expect(throws: HTTPError.self) { try await client.outbox(at: folder.url) }
  }

  @Test func `a released outbox drains, then hands over to another instance`() async throws {
    let (folder, server) = (try OutboxFolder(), Server())
    let clock = TestClock(advancing: .manually)
    let client = server.client { $0.clock = clock }
    server.hold(true)
    var outbox: Outbox? = try await client.outbox(at: folder.url)
    for _ in 0..<5 { try await outbox?.submit(Self.post("a")) }
    let standby = try await client.outbox(at: folder.url)
    #expect(!standby.status.isSender && standby.status.pending == 5)
    outbox = nil
    server.hold(false)
    await client.wait(until: { client.core.work.count == 1 })
    #expect(!standby.status.isSender && standby.status.pending == 5)
    // The standby checks the folder once a second. A child process that has not executed its program yet holds the
    // lease longer.
    await clock.wait(forSleepers: 1)
    repeat {
      clock.advance(by: .seconds(1))
      await clock.wait(forSleepers: 1)
    } while !standby.status.isSender

    #expect(standby.status.pending == 0)
    #expect(server.visits.count == 5 && standby.status.delivered == 0)
    _ = outbox
  }

  @Test func `a submission cancelled while its stream is read stores nothing`() async throws {
    let (folder, server) = (try OutboxFolder(), Server())
    let outbox = try await server.client().outbox(at: folder.url)
    let asked = Log<Int>()
    let stream = AsyncStream<Data> {
      asked.add(1)
      if asked.count == 1 { return Data(count: 100_000) }
      _ = try? await untilCancelled()
      return nil
    }
    let submission = Task { try await outbox.submit(.post("https://api.test/a", body: .stream(stream))) }
    await asked.wait(for: 2)
    #expect(folder.names.count == 2)
    submission.cancel()

    await #expect(throws: CancellationError.self) { try await submission.value }
    #expect(folder.names == ["journal"] && outbox.status.pending == 0 && server.visits.isEmpty)
  }

  @Test func `resends requests that were cancelled`() async throws {
    let (folder, server) = (try OutboxFolder(), Server())
    server.answer("a", .failure(CancellationError()), .failure(CancellationError()))
    let outbox = try await server.client().outbox(at: folder.url)
    try await outbox.submit(Self.post("a"))
    await outbox.waitUntilIdle()

    #expect(server.visits.count == 3 && outbox.status.delivered == 1)
  }

  @Test func `waitUntilIdle returns after retryNow without pending requests`() async throws {
    let (folder, server) = (try OutboxFolder(), Server())
    let outbox = try await server.client().outbox(at: folder.url)
    for _ in 0..<50 {
      outbox.retryNow()
      await outbox.waitUntilIdle()
    }
    #expect(outbox.status.pending == 0)
  }

  @Test func `expires hundreds of requests without a delay between rounds`() async throws {
    let (folder, server) = (try OutboxFolder(), Server())
    let date = Locked(Date(timeIntervalSince1970: 1_700_000_000))
    let network = Network([.disconnected])
    let clock = TestClock(advancing: .manually)
    let client = server.client {
      $0.clock = clock
      $0.now = { date.withLock { $0 } }
    }
    let outbox = try await client.outbox(
      at: folder.url, options: Self.options { $0.connectivity = network })
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<300 { group.addTask { try await outbox.submit(Self.post("a")) } }
      try await group.waitForAll()
    }
    date.withLock { $0 += 8 * 24 * 3600 }
    await network.deliver(.connected)
    await outbox.waitUntilIdle()
    #expect(outbox.status.dead == 300 && server.visits.isEmpty)
    // There was no delay between any two rounds.
    #expect(clock.now.offset == .zero)
  }

  @Test func `delivers a hundred concurrent submissions exactly once`() async throws {
    let (folder, server) = (try OutboxFolder(), Server())
    let outbox = try await server.client().outbox(at: folder.url)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<100 { group.addTask { try await outbox.submit(Self.post("a", "\(number)")) } }
      try await group.waitForAll()
    }
    await outbox.waitUntilIdle()
    #expect(Set(server.visits.map(\.text)).count == 100 && server.visits.count == 100)
  }
}

/// A network whose state the test sets.
final class Network: Connectivity {
  private struct News {
    var states: [ConnectivityState]
    /// Whether the outbox is waiting for the next state, so it has received all previous states.
    var isAwaited = false
  }

  let states: AsyncStream<ConnectivityState>
  private let news: Shared<News>

  init(_ states: [ConnectivityState]) {
    let news = Shared(News(states: states))
    self.news = news
    self.states = AsyncStream {
      news.withLock { $0.isAwaited = true }
      await news.wait { !$0.states.isEmpty }
      return news.withLock {
        $0.isAwaited = false
        return $0.states.isEmpty ? nil : $0.states.removeFirst()
      }
    }
  }

  /// Reports a state and waits until the outbox has received it.
  func deliver(_ state: ConnectivityState) async {
    news.withLock { $0.states.append(state) }
    await news.wait { $0.states.isEmpty && $0.isAwaited }
  }
}
