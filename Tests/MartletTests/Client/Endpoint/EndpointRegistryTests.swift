import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

/// Running requests, found and cancelled by endpoint type, tag and host.
@Suite(.hangLimit) struct EndpointRegistryTests {
  private static func hanging() -> HTTPClient { HTTPClient.stubbed(StubTransport { _ in try await untilCancelled() }) }

  // W16
  @Test func `counts running requests by endpoint type until they end`() async throws {
    let gate = Gate()
    let client = HTTPClient.stubbed(
      StubTransport { request in
        await gate.pass()
        return request.url?.path() == "/user" ? .json(#"{"id":1}"#) : .text("x")
      })

    let first = client.start(Forge.GetItem(number: 1))
    let second = Task { try await client.send(Forge.GetItem(number: 2)) }
    let third = client.start(Forge.GetUser())
    await client.wait { client.activity.current.running.count == 3 }
    let during = client.activity
    let counts = [
      during.requests(of: Forge.GetItem.self).count, during.requests(of: Forge.GetUser.self).count,
      during.requests(of: Forge.GetNews.self).count,
    ]
    let isInUse = [during.isInUse(Forge.GetItem.self), during.isInUse(Forge.GetNews.self)]
    let running = during.current.running
    gate.open()
    _ = try await (first.value, second.value, third.value)

    #expect(counts == [2, 1, 0])
    #expect(isInUse == [true, false])
    #expect(running.count { $0.endpoint == Forge.GetItem.self } == 2)
    #expect(running.map(\.id) == running.map(\.id).sorted())
    #expect(!client.activity.isInUse(Forge.GetItem.self))
    #expect(client.activity.requests(of: Forge.GetUser.self).isEmpty)
    #expect(client.activity.current.running.isEmpty)
  }

  // W16
  @Test func `finds running requests by tag and host`() async throws {
    let client = Self.hanging()
    client.start(Forge.GetItem(number: 1), options: .tag("a"))
    client.start(Forge.GetItem(number: 2), options: .tag("b"))
    client.start(.get("https://Other.test/x?token=secret"), options: .tag("a"))

    let tagged = client.activity.requests(tagged: "a")
    let there = client.activity.requests(to: "other.test")

    #expect(tagged.map(\.host) == ["example.test", "other.test"])
    #expect(there.map(\.tag) == ["a"])
    #expect(there.map(\.redactedURL) == ["https://other.test/x?token=***"])
    #expect(there.first?.endpoint == nil)
    #expect(client.activity.current.byHost == ["example.test": 2, "other.test": 1])
    #expect(client.activity.requests(tagged: "c").isEmpty)
    client.cancelAll()
  }

  // W17
  @Test func `cancels the requests of one endpoint type and returns their count`() async throws {
    let client = Self.hanging()
    let items = [client.start(Forge.GetItem(number: 1)), client.start(Forge.GetItem(number: 2))]
    let awaited = Task { try await client.send(Forge.GetItem(number: 3)) }
    let user = client.start(Forge.GetUser())
    let news = client.start(Forge.GetNews())
    let plain = client.start(.get("/items/1"))
    await client.wait { client.activity.current.running.count == 6 }

    let count = client.cancelAll(of: Forge.GetItem.self)
    let again = client.cancelAll(of: Forge.GetItem.self)

    #expect(count == 3)
    #expect(again == 0)
    for item in items { await #expect(throws: CancellationError.self) { try await item.value } }
    await #expect(throws: CancellationError.self) { try await awaited.value }
    #expect(!awaited.isCancelled)
    #expect(user.isAlive && news.isAlive && plain.isAlive)
    client.cancelAll()
  }

  // W17
  @Test func `specializations of a generic endpoint are different types`() async throws {
    let client = Self.hanging()
    let users = client.start(Forge.List<Forge.User>())
    let items = client.start(Forge.List<Forge.Item>())

    let count = client.cancelAll(of: Forge.List<Forge.User>.self)

    #expect(count == 1)
    #expect(!users.isAlive)
    #expect(items.isAlive)
    #expect(client.activity.isInUse(Forge.List<Forge.Item>.self))
    client.cancelAll()
  }

  // W17
  @Test func `cancels all endpoints that conform to a protocol`() async throws {
    let client = Self.hanging()
    let item = client.start(Forge.GetItem())
    let news = client.start(Forge.GetNews())
    let user = client.start(Forge.GetUser())

    let count = client.cancelAll { $0.endpoint is any FeedEndpoint.Type }

    #expect(count == 2)
    #expect(!item.isAlive && !news.isAlive)
    #expect(user.isAlive)
    client.cancelAll()
  }

  // W18
  @Test func `cancels all requests of this client only`() async throws {
    let client = Self.hanging()
    let other = client.derived { _ in }
    let mine = client.start(Forge.GetItem())
    let theirs = other.start(Forge.GetItem())

    let count = client.cancelAll()

    #expect(count == 1)
    #expect(!mine.isAlive)
    #expect(theirs.isAlive)
    #expect(!client.activity.isInUse(Forge.GetItem.self))
    other.cancelAll()
  }

  @Test func `reports the number of the running attempt`() async throws {
    let gate = Gate()
    let seen = Log<Int>()
    let client = HTTPClient.stubbed(
      StubTransport(withContext: { _, context in
        if context.attempt == 1 { return .status(503) }
        await gate.pass()
        return .text("x")
      })
    ) { $0.retry = .custom { attempt, _ in attempt < 2 ? .zero : nil } }

    async let response = client.stream(.get("/")) { response in
      seen.add(client.activity.current.running.first?.attempt ?? 0)
      return response.status
    }
    await gate.waitForArrivals(1)
    #expect(client.activity.current.running.first?.attempt == 2)
    gate.open()

    #expect(try await response == .ok)
    #expect(seen.elements == [2])
  }

  @Test func `reports attempt 1 while the first response is streamed`() async throws {
    let client = HTTPClient.stubbed(StubTransport { _ in .text("x") })

    let attempt = try await client.stream(.get("/")) { _ in client.activity.current.running.first?.attempt }

    #expect(attempt == 1)
  }
}
