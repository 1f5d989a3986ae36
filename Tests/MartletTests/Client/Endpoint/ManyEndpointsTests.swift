import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

/// `all` and `results`: several requests of the same type.
@Suite(.hangLimit) struct ManyEndpointsTests {
  private static func items(_ count: Int) -> [Forge.GetItem] { (0..<count).map { Forge.GetItem(number: $0) } }

  /// Responds in descending order of the numbers.
  private static func backwards(_ count: Int) -> StubTransport {
    let gates = (0..<count).map { _ in Gate() }
    return StubTransport { request in
      let number = Forge.number(request)
      if number < count - 1 { await gates[number + 1].pass() }
      gates[number].open()
      return .text("\(number)")
    }
  }

  @Test func `all returns the outputs in the order of the endpoints`() async throws {
    let client = HTTPClient.stubbed(Self.backwards(8))

    let texts = try await client.sendAll(Self.items(8), limit: 8)

    #expect(texts == (0..<8).map { "\($0)" })
  }

  @Test func `an empty list of endpoints sends no request`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.stubbed(transport)

    let texts = try await client.sendAll([Forge.GetItem]())
    for await _ in client.results([Forge.GetItem]()) { Issue.record("a result of nothing") }

    #expect(texts.isEmpty)
    #expect(transport.requests.isEmpty)
  }

  @Test(arguments: [(9, 3), (2, 5), (4, 1), (3, 0), (3, .max), (3, .min), (0, .max)])
  func `all limits the number of concurrent requests`(count: Int, limit: Int) async throws {
    let crowd = Crowd()
    let client = HTTPClient.stubbed(
      StubTransport { _ in
        await crowd.pass()
        return .text("x")
      })
    let most = min(count, max(1, limit))

    let asking = Task { try await client.sendAll(Self.items(count), limit: limit) }
    await crowd.waitForArrivals(most)
    await letOthersRun()
    crowd.open()
    let texts = try await asking.value

    #expect(texts.count == count)
    #expect(crowd.most == most)
  }

  @Test func `the first failure in all cancels the other requests`() async throws {
    let entered = Log<Int>()
    let client = HTTPClient.stubbed(
      StubTransport { request in
        entered.add(Forge.number(request))
        guard Forge.number(request) == 2 else { try await untilCancelled() }
        await entered.wait(for: 4)
        return .status(500)
      })

    let error = try await #require(throws: HTTPError.self) { try await client.sendAll(Self.items(10), limit: 4) }

    #expect(error.status == 500)
    #expect(entered.elements.sorted() == [0, 1, 2, 3])
    #expect(client.activity.current.totals.cancelled == 3)
    #expect(client.activity.current.running.isEmpty)
  }

  @Test func `cancelling the task cancels all its requests`() async throws {
    let client = HTTPClient.stubbed(StubTransport { _ in try await untilCancelled() })
    let asking = Task { try await client.sendAll(Self.items(3)) }
    await client.wait { client.activity.current.running.count == 3 }

    asking.cancel()

    await #expect(throws: CancellationError.self) { try await asking.value }
    #expect(client.activity.current.totals.cancelled == 3)
  }

  @Test func `results succeed or fail independently`() async throws {
    let client = HTTPClient.stubbed(
      StubTransport { request in
        let number = Forge.number(request)
        return number.isMultiple(of: 3) ? .status(500) : .text("\(number)")
      })
    var seen: [Int: String] = [:]

    for await (index, result) in client.results(Self.items(10), limit: 3) {
      do { seen[index] = try result.get() } catch { seen[index] = "\((error as? HTTPError)?.kind.description ?? "?")" }
    }

    let expected = (0..<10).map { ($0, $0.isMultiple(of: 3) ? "status" : "\($0)") }
    #expect(seen == Dictionary(uniqueKeysWithValues: expected))
  }

  @Test func `results arrive in order of completion`() async {
    let gates = (0..<5).map { _ in Gate() }
    let client = HTTPClient.stubbed(
      StubTransport { request in
        await gates[Forge.number(request)].pass()
        return .text("x")
      })
    var order: [Int] = []

    gates[4].open()
    for await (index, _) in client.results(Self.items(5), limit: 5) {
      order.append(index)
      if index > 0 { gates[index - 1].open() }
    }

    #expect(order == [4, 3, 2, 1, 0])
  }

  @Test func `leaving the loop over results cancels running requests and starts no more`() async {
    let transport = StubTransport { request in
      guard Forge.number(request) == 0 else { try await untilCancelled() }
      return .text("first")
    }
    let client = HTTPClient.stubbed(transport)

    for await (index, _) in client.results(Self.items(20), limit: 4) {
      #expect(index == 0)
      break
    }

    await client.waitUntilEmpty()
    #expect(client.activity.current.byHost.isEmpty)
    #expect(client.activity.current.totals.succeeded == 1)
    #expect(transport.requests.count <= 5)
  }
}
