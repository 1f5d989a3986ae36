import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet
@testable import MartletOutbox

/// When an object's last owner releases it, waits that depend on the object end or their work continues.
@Suite(.hangLimit) struct ReleasedOwnersTests {
  private struct Ping: Endpoint {
    typealias Output = String
    let target: RequestTarget = "/ping"
    func decode(_ response: HTTPResponse) throws -> String { response.text }
  }

  /// The ways in which a queue is paused when it is released.
  enum Pause: CaseIterable { case fromTheStart, besideARunningRequest }

  @Test(arguments: Pause.allCases, [RequestQueue.Progress.Kind.simple, .accurate])
  func `a released paused queue sends its requests`(_ pause: Pause, _ kind: RequestQueue.Progress.Kind) async throws {
    let isReleased = Gate()
    let crowd = Crowd()
    let signal = Shared(ReleaseSignal { isReleased.open() } as ReleaseSignal?)
    let middleware = Visited(signal: signal.value)
    signal.withLock { $0 = nil }
    var client: HTTPClient? = HTTPClient.stubbed(
      StubTransport { request in
        if request.method == .get { await crowd.pass() }
        return .text("x")
      }
    ) { [middleware] in
      $0.cache = .off
      $0.middleware = [middleware]
    }
    _ = consume middleware
    var queue = client.map {
      RequestQueue(client: $0, limits: .concurrent(1), progress: kind, paused: pause == .fromTheStart)
    }
    var handles = [try #require(queue?.add(.get("/1")))]
    if pause == .besideARunningRequest { await crowd.waitForArrivals(1) }
    queue?.pause()
    handles.append(try #require(queue?.add(.get("/2"))))

    queue = nil
    crowd.open()

    for handle in handles { #expect(try await handle.value.text == "x") }
    await client?.drain()
    handles = []
    client = nil
    await isReleased.pass()
  }

  @Test func `a released queue starts no request before its predecessor has ended`() async throws {
    let crowd = Crowd()
    let client = HTTPClient.stubbed(
      StubTransport { request in
        await crowd.pass(request.url?.lastPathComponent ?? "")
        return .text("x")
      })
    var queue: RequestQueue? = RequestQueue(client: client, paused: true)
    let first = try #require(queue?.add(.get("/1")))
    let second = try #require(queue?.add(.get("/2"), after: [first.id]))

    queue = nil
    await crowd.waitForArrivals(1)
    crowd.open()

    _ = try await second.value
    #expect(crowd.names == ["1", "2"])
  }

  @Test func `the events and the progress of a released queue end with its last request`() async throws {
    let crowd = Crowd()
    let client = HTTPClient.stubbed(
      StubTransport { _ in
        await crowd.pass()
        return .text("x")
      })
    var queue: RequestQueue? = RequestQueue(client: client)
    let (events, progress) = (try #require(queue?.events), try #require(queue?.progress))
    let handle = try #require(queue?.add(.get("/1")))
    await crowd.waitForArrivals(1)

    queue = nil
    crowd.open()

    var last: RequestQueue.Event?
    for await event in events { last = event }
    guard case .finished(let summary)? = last else { throw UnexpectedEvent() }
    #expect(summary == RequestQueue.Summary(added: 1, succeeded: 1))
    for await now in progress { #expect(now.summary.added <= 1) }
    #expect(try await handle.retry().value.text == "x", "its requests can be repeated")
  }

  @Test func `the events of a released empty queue end at once`() async {
    let events = RequestQueue(client: HTTPClient.stubbed(.text("x"))).events

    for await _ in events {}
  }

  @Test func `the events of an endpoint end with the client`() async throws {
    var client: HTTPClient? = HTTPClient.stubbed(.text("pong"))
    let events = try #require(client?.events(of: Ping.self))
    #expect(try await client?.send(Ping()) == "pong")

    client = nil

    var count = 0
    for await _ in events { count += 1 }
    #expect(count == 1)
  }

  @Test func `snapshots end with the client`() async throws {
    let clock = TestClock(advancing: .manually)
    var client: HTTPClient? = HTTPClient.stubbed(StubTransport { _ in .text("x") }, clock: clock)
    let snapshots = try #require(client?.activity.snapshots)
    let reading = Task { for await _ in snapshots {} }
    await clock.wait(forSleepers: 1)
    clock.advance(by: .milliseconds(100))

    client = nil

    await reading.value
  }

  @Test func `the last snapshot shows an idle client with all requests counted`() async throws {
    let (clock, crowd) = (TestClock(advancing: .manually), Crowd())
    var client: HTTPClient? = HTTPClient.stubbed(
      StubTransport(withContext: { _, context in
        await crowd.pass()
        context.didReceive(1)
        return .text("x")
      }), clock: clock)
    var handle = client?.start(.get("/1"))
    await crowd.waitForArrivals(1)
    let snapshots = try #require(client?.activity.snapshots)
    let seen = Log<ActivityMonitor.Snapshot>()
    let reading = Task { for await snapshot in snapshots { seen.add(snapshot) } }
    await seen.wait(for: 1)

    client = nil
    crowd.open()
    _ = try await handle?.value
    handle = nil

    await reading.value
    #expect(seen.elements.map(\.running.count) == [1, 0])
    let last = try #require(seen.elements.last)
    #expect(last.totals.succeeded == 1 && last.totals.bytesReceived == 1)
    #expect(last.byHost.isEmpty && last.bytesPerSecond == TransferProgress.Bandwidth())
  }

  @Test(arguments: [.zero, .milliseconds(250), Duration(attoseconds: .max)])
  func `an indicator turns off and ends with the client and its last request`(hideAfter: Duration) async throws {
    let (clock, crowd) = (TestClock(advancing: .manually), Crowd())
    var client: HTTPClient? = HTTPClient.stubbed(
      StubTransport { _ in
        await crowd.pass()
        return .text("x")
      }, clock: clock)
    clock.advance(by: .seconds(3600))
    let indicator = try #require(client?.activity.indicator(hideAfter: hideAfter))
    let seen = Log<Bool>()
    let reading = Task { for await isOn in indicator { seen.add(isOn) } }
    await seen.wait(for: 1)
    var handle = client?.start(.get("/1"))
    await seen.wait(for: 2)

    client = nil
    crowd.open()

    _ = try await handle?.value
    // The handle can repeat its request, so it retains the client.
    handle = nil
    await reading.value
    #expect(seen.elements == [false, true, false])
  }

  @Test func `the events of a released outbox end with its last request`() async throws {
    let folder = try OutboxFolder()
    let client = HTTPClient.stubbed(.text("x"))
    var outbox: Outbox? = try await client.outbox(at: folder.url)
    let events = try #require(outbox?.events)
    let id = try await outbox?.submit(.post("/1", body: .text("a")))

    outbox = nil

    var delivered: [UUID?] = []
    for await case .delivered(let id, _) in events { delivered.append(id) }
    #expect(delivered == [id])
    await client.drain()
  }
}

private struct UnexpectedEvent: Error {}

/// Middleware that retains a signal.
private struct Visited: Middleware {
  let signal: ReleaseSignal?

  func intercept(
    _ request: HTTPRequest, context: RequestContext, next: MiddlewareNext
  ) async throws -> StreamedResponse {
    defer { withExtendedLifetime(signal) {} }
    return try await next(request)
  }
}
