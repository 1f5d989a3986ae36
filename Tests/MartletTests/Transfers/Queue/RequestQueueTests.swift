import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct RequestQueueTests {
  /// Responds to `HEAD` with the length in the path, and to other methods with that many bytes, except for `bad` and
  /// `none`.
  private static func transport(_ crowd: Crowd? = nil) -> StubTransport {
    StubTransport { request in
      let path = request.url?.lastPathComponent ?? ""
      let count = Int(path.drop { !$0.isNumber }) ?? 1
      if request.method == .head {
        return path.hasPrefix("none") ? .status(405) : .status(200, headers: ["Content-Length": "\(count)"])
      }
      if path.hasPrefix("bad") { return .status(500) }
      await crowd?.pass(path)
      return .text(String(repeating: "x", count: count))
    }
  }

  /// Waits until a queue has counted this many ends, because a caller may receive a response earlier.
  private static func waitForEnds(_ count: Int, of queue: RequestQueue) async {
    for await progress in queue.progress where progress.summary.ended >= count { return }
  }

  @Test func `S22 sends as many requests at once as the limits allow`() async throws {
    let crowd = Crowd()
    let queue = RequestQueue(
      client: HTTPClient.stubbed(Self.transport(crowd), .cache(.off)), limits: .concurrent(3, perHost: 2))
    for index in 0..<4 { queue.add(.get("http://a.test/\(index)")) }
    for index in 0..<4 { queue.add(.get("http://b.test/\(index)")) }
    await crowd.waitForArrivals(3)
    await letOthersRun()
    crowd.open()

    let summary = await queue.finish()

    #expect(summary == RequestQueue.Summary(added: 8, succeeded: 8))
    #expect(crowd.most == 3)
    #expect(crowd.names.prefix(3).sorted() == ["0", "0", "1"], "two of one host, and one of the other")
  }

  @Test func `S23 a paused queue starts nothing until it is resumed`() async throws {
    let crowd = Crowd()
    crowd.open()
    let client = HTTPClient.stubbed(Self.transport(crowd), .cache(.off))
    let queue = RequestQueue(client: client, limits: .concurrent(1), paused: true)
    let handles = ["low", "high", "low2"].map { name in
      queue.add(.get("http://a.test/\(name)"), priority: name == "high" ? 1 : 0)
    }
    await letOthersRun()
    #expect(crowd.names.isEmpty && handles.allSatisfy { $0.isAlive })
    #expect(client.activity.current.waiting.map(\.reason) == [.queue, .queue, .queue])

    queue.resume()
    queue.resume()
    for handle in handles { _ = try await handle.value }
    #expect(crowd.names == ["high", "low", "low2"])
    queue.pause()
    let last = queue.add(.get("http://a.test/last"))
    await letOthersRun()
    #expect(last.isAlive && crowd.names.count == 3)
    #expect(await queue.finish().succeeded == 4)
  }

  @Test func `S24 S25 reports the events of every request in order, and the end of the queue`() async throws {
    let queue = RequestQueue(
      client: HTTPClient.stubbed(Self.transport(), .cache(.off)), limits: .concurrent(1), paused: true)
    var events = queue.events.makeAsyncIterator()
    let good = queue.add(.get("http://a.test/1"))
    let bad = queue.add(.get("http://a.test/bad"))
    async let summary = queue.finish()

    var told: [RequestID: [String]] = [:]
    var last = ""
    while let event = await events.next() {
      switch event {
      case .request(let id, let event):
        switch event {
        case .started: told[id, default: []].append("started")
        case .head(let status): told[id, default: []].append("head \(status.rawValue)")
        default: break
        }
      case .ended(let id, .succeeded): told[id, default: []].append("succeeded")
      case .ended(let id, .failed): told[id, default: []].append("failed")
      case .ended(let id, .cancelled): told[id, default: []].append("cancelled")
      case .finished(let summary): last = "\(summary.succeeded) \(summary.failed)"
      }
    }

    #expect(told[good.id] == ["started", "head 200", "succeeded"])
    #expect(told[bad.id] == ["started", "head 500", "failed"])
    #expect(last == "1 1")
    #expect(await summary == RequestQueue.Summary(added: 2, succeeded: 1, failed: 1))
    let late = queue.add(.get("http://a.test/1"))
    await #expect(throws: HTTPError.self) { try await late.value }
    for await _ in queue.events { Issue.record("an event after the end") }
  }

  @Test(arguments: [true, false])
  func `S26 the first failure cancels the others only with cancelOthers`(cancels: Bool) async throws {
    let crowd = Crowd()
    let queue = RequestQueue(
      client: HTTPClient.stubbed(Self.transport(crowd), .cache(.off)), limits: .concurrent(2),
      onFailure: cancels ? .cancelOthers : .continueOthers, paused: true)
    let handles = (0..<10).map { queue.add(.get("http://a.test/\($0 == 0 ? "bad" : "ok\($0)")")) }
    queue.resume()
    if !cancels { crowd.open() }

    let summary = await queue.finish()

    #expect(
      summary == RequestQueue.Summary(added: 10, succeeded: cancels ? 0 : 9, failed: 1, cancelled: cancels ? 9 : 0))
    #expect(handles.allSatisfy { !$0.isAlive })
  }

  @Test func `S26 a cancellation cancels the others with cancelOthers`() async throws {
    let queue = RequestQueue(
      client: HTTPClient.stubbed(Self.transport(), .cache(.off)), onFailure: .cancelOthers, paused: true)
    let handles = (0..<10).map { queue.add(.get("http://a.test/\($0)")) }
    handles[3].cancel()
    #expect(await queue.finish() == RequestQueue.Summary(added: 10, cancelled: 10))
  }

  @Test func `S26 each failure cancels existing requests, not those added after it`() async throws {
    let queue = RequestQueue(
      client: HTTPClient.stubbed(Self.transport(), .cache(.off)), limits: .concurrent(1), onFailure: .cancelOthers)
    for _ in 0..<2 {
      let bad = queue.add(.get("http://a.test/bad"))
      await #expect(throws: HTTPError.self) { try await bad.value }
    }
    queue.pause()
    let bad = queue.add(.get("http://a.test/bad"))
    let other = queue.add(.get("http://a.test/1"))
    // This request is added after the failure is reported, but before the cancellations that it causes are.
    let late = Shared<RequestHandle<HTTPResponse>?>(nil)
    other.call?.onSettled { late.withLock { $0 = queue.add(.get("http://a.test/2")) } }
    queue.resume()

    await #expect(throws: HTTPError.self) { try await bad.value }
    await #expect(throws: CancellationError.self) { try await other.value }
    #expect(await queue.finish() == RequestQueue.Summary(added: 5, succeeded: 1, failed: 3, cancelled: 1))
    #expect(late.value != nil)
  }

  @Test func `S27 cancels all requests and accepts new ones`() async throws {
    let crowd = Crowd()
    let client = HTTPClient.stubbed(Self.transport(crowd), .cache(.off))
    let queue = RequestQueue(client: client, limits: .concurrent(2))
    let handles = (0..<6).map { queue.add(.get("http://a.test/\($0)")) }
    await crowd.waitForArrivals(2)

    #expect(queue.cancelAll() == 6)
    for handle in handles { await #expect(throws: CancellationError.self) { try await handle.value } }
    #expect(crowd.names.count == 2)
    crowd.open()
    #expect(try await queue.add(.get("http://a.test/2")).value.text == "xx")
    #expect(await queue.finish() == RequestQueue.Summary(added: 7, succeeded: 1, cancelled: 6))
    await client.waitUntilEmpty()
  }

  @Test func `S33 all direct and indirect dependents of a failed request fail`() async throws {
    let queue = RequestQueue(client: HTTPClient.stubbed(Self.transport(), .cache(.off)), paused: true)
    let first = queue.add(.get("http://a.test/bad"))
    var chain = [first]
    let count = Stress.count(2_000, full: 5_000)
    for index in 0..<count {
      chain.append(queue.add(.get("http://a.test/\(index)"), after: [chain[index].id]))
    }
    let other = queue.add(.get("http://a.test/3"))
    #expect(throws: HTTPError.self) { try queue.addDependency(chain[100].id, to: chain[2].id) }

    let summary = await queue.finish()

    #expect(summary == RequestQueue.Summary(added: count + 2, succeeded: 1, failed: count + 1))
    let error = await #expect(throws: HTTPError.self) { try await chain[count].value }
    #expect(error?.kind == .queueFailed && error?.message.contains("has failed") == true)
    #expect(try await other.value.text == "xxx")
  }

  @Test func `S33 sends a request after its dependencies`() async throws {
    let crowd = Crowd()
    crowd.open()
    let queue = RequestQueue(
      client: HTTPClient.stubbed(Self.transport(crowd), .cache(.off)), limits: .concurrent(4), paused: true)
    let last = queue.add(.get("http://a.test/last"), priority: 9)
    let middle = queue.add(.get("http://a.test/middle"), priority: 5)
    let first = queue.add(.get("http://a.test/first"))
    #expect(try queue.addDependency(middle.id, to: last.id))
    #expect(try queue.addDependency(first.id, to: middle.id))
    #expect(await queue.finish().succeeded == 3)
    #expect(crowd.names == ["first", "middle", "last"])
  }

  @Test func `S30 simple progress advances only when a request ends`() async throws {
    let queue = RequestQueue(
      client: HTTPClient.stubbed(Self.transport(), .cache(.off)), limits: .concurrent(1), paused: true)
    var progress = queue.progress.makeAsyncIterator()
    var fractions = [await progress.next()?.fraction]
    let handles = (1...4).map { queue.add(.get("http://a.test/\($0)")) }
    queue.resume()
    for handle in handles {
      _ = try await handle.value
      // Only the newest state is delivered, so two ends may be reported together.
      await Self.waitForEnds(fractions.count, of: queue)
      fractions.append(queue.status.fraction)
    }
    #expect(fractions.compactMap { $0 } == fractions.compactMap { $0 }.sorted())
    #expect(Set(fractions.compactMap { $0 }).isSubset(of: [0, 0.25, 0.5, 0.75, 1]))
    #expect(queue.status.fraction == 1 && queue.status.summary == RequestQueue.Summary(added: 4, succeeded: 4))
  }

  @Test func `S31 adding requests never decreases the progress`() async throws {
    let queue = RequestQueue(client: HTTPClient.stubbed(Self.transport(), .cache(.off)))
    for index in 1...2 { _ = try await queue.add(.get("http://a.test/\(index)")).value }
    await Self.waitForEnds(2, of: queue)
    #expect(queue.status.fraction == 1)
    queue.pause()
    for index in 1...6 { queue.add(.get("http://a.test/\(index)")) }
    #expect(queue.status.fraction == 1 && queue.status.isEstimate)
    #expect(await queue.finish().succeeded == 8)
    #expect(queue.status.fraction == 1 && !queue.status.isEstimate)
  }

  @Test func `S29 accurate progress requests all lengths before the bodies`() async throws {
    let transport = Self.transport()
    let client = HTTPClient.stubbed(transport) { $0.cache = .off }
    let queue = RequestQueue(client: client, limits: .concurrent(1), progress: .accurate, paused: true)
    let small = queue.add(.get("http://a.test/100"))
    let large = queue.add(.get("http://a.test/300"))
    let unknown = queue.add(.get("http://a.test/none200"))
    queue.resume()
    _ = try await small.value
    await Self.waitForEnds(1, of: queue)
    let summary = await queue.finish()

    #expect(summary.succeeded == 3)
    #expect(transport.requests.map(\.method) == [.head, .head, .head, .get, .get, .get])
    #expect(queue.status.fraction == 1)
    _ = (large, unknown)
  }

  // S29, S134: testHEADFailure
  @Test func `a request whose length is unavailable still runs and fails with its own error`() async throws {
    let transport = StubTransport { _ in throw HTTPError(.cannotConnect, "nobody is there") }
    let client = HTTPClient.stubbed(transport) { $0.retry = .off }
    let queue = RequestQueue(client: client, limits: .concurrent(1), progress: .accurate, paused: true)
    let handle = queue.add(.get("http://a.test/100"))
    queue.resume()

    let error = try await #require(throws: HTTPError.self) { try await handle.value }
    let summary = await queue.finish()

    #expect(error.kind == .cannotConnect && error.method == .get)
    #expect(transport.requests.map(\.method) == [.head, .get])
    #expect(summary == RequestQueue.Summary(added: 1, failed: 1) && queue.status.fraction == 1)
  }

  @Test func `assumes the mean length for requests of unknown length`() {
    var tally = QueueTally(.accurate)
    let ids = (1...3).map { RequestID(number: $0) }
    for _ in ids { tally.add() }
    tally.expect(100, of: ids[0])
    tally.expect(300, of: ids[1])
    // The lengths are 100, 300 and, for the third request, the mean of 200.
    tally.move(TransferProgress(sent: 0, received: 60, expectedToSend: nil, expectedToReceive: nil), of: ids[0])
    #expect(abs(tally.progress.fraction - 0.1) < 1e-9)
    tally.end(ids[0], .succeeded(.ok))
    #expect(abs(tally.progress.fraction - 100.0 / 600) < 1e-9)
    tally.end(ids[2], .cancelled)
    #expect(abs(tally.progress.fraction - 300.0 / 600) < 1e-9)
    tally.move(TransferProgress(sent: 0, received: 900, expectedToSend: nil, expectedToReceive: nil), of: ids[1])
    #expect(abs(tally.progress.fraction - 1) < 1e-9, "more than was announced is all of it")
    tally.end(ids[1], .succeeded(.ok))
    #expect(tally.progress.fraction == 1 && tally.progress.received == 960)
  }

  @Test func `an invalid request or a foreign dependency fails at once`() async throws {
    let queue = RequestQueue(client: HTTPClient.stubbed(Self.transport(), .cache(.off)))
    let bad = queue.add(.get("http://a b/"))
    #expect(!bad.isAlive)
    let other = RequestQueue(client: HTTPClient.stubbed(Self.transport(), .cache(.off))).add(.get("http://a.test/1"))
    let stray = queue.add(.get("http://a.test/1"), after: [other.id])
    let error = await #expect(throws: HTTPError.self) { try await stray.value }
    #expect(error?.kind == .queueFailed && error?.message.contains("is not in this queue") == true)
    #expect(await queue.finish() == RequestQueue.Summary())
  }

  @Test func `requests continue after the queue is released`() async throws {
    let crowd = Crowd()
    let client = HTTPClient.stubbed(Self.transport(crowd), .cache(.off))
    var handles: [RequestHandle<HTTPResponse>] = []
    do {
      let queue = RequestQueue(client: client, limits: .concurrent(1))
      handles = (1...3).map { queue.add(.get("http://a.test/\($0)")) }
    }
    crowd.open()
    for handle in handles { _ = try await handle.value }
    await client.waitUntilEmpty()
  }

  @Test func `retry adds a request to its queue again`() async throws {
    let queue = RequestQueue(client: HTTPClient.stubbed(Self.transport(), .cache(.off)), limits: .concurrent(1))
    let handle = queue.add(.get("http://a.test/bad"))
    await #expect(throws: HTTPError.self) { try await handle.value }
    let again = handle.retry()
    await #expect(throws: HTTPError.self) { try await again.value }
    #expect(again.retryOf == handle.id)
    #expect(await queue.finish() == RequestQueue.Summary(added: 2, failed: 2))
  }
}
