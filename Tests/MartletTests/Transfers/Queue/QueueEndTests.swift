import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// How a queue's waits and requests end.
@Suite(.hangLimit) struct QueueEndTests {
  private static let settings: ClientSetting = [
    .cache(.off), .clock(TestClock(advancing: .manually)), .timeout(.unlimited), .retry(.off),
  ]

  @MainActor @Test func `a cancelled task stops waiting for the end of a queue`() async {
    let queue = RequestQueue(client: HTTPClient(StubTransport { _ in try await untilCancelled() }, Self.settings))
    let handle = queue.add(.get("http://a.test/held"))
    let waiter = Task { await queue.finish() }
    // The task waits after the yield, because both tasks run on the main actor.
    await Task.yield()

    waiter.cancel()

    #expect(await waiter.value == RequestQueue.Summary(added: 1))
    #expect(handle.isAlive)
    queue.cancelAll()
  }

  @Test func `cancelAll also cancels the HEAD request for a length`() async throws {
    let methods = Log<HTTPMethod>()
    let transport = StubTransport { request in
      methods.add(request.method)
      try await untilCancelled()
    }
    let queue = RequestQueue(client: HTTPClient(transport, Self.settings), progress: .accurate)
    let handle = queue.add(.get("http://a.test/a"))
    await methods.wait(for: 1)
    #expect(methods.elements == [.head])

    #expect(queue.cancelAll() == 1)

    await #expect(throws: CancellationError.self) { try await handle.value }
    #expect(await queue.finish() == RequestQueue.Summary(added: 1, cancelled: 1))
    #expect(methods.elements == [.head])
  }

  @Test(arguments: [1, 2, 5]) func `no request starts during cancelAll`(_ width: Int) async throws {
    let begun = Log<String>()
    let transport = StubTransport { request in
      begun.add("\(request.method) \(request.url?.lastPathComponent ?? "")")
      try await untilCancelled()
    }
    for _ in 0..<50 {
      let before = begun.elements.count
      let queue = RequestQueue(
        client: HTTPClient(transport, Self.settings), limits: .concurrent(width), progress: .accurate)
      for number in 0..<10 { _ = queue.add(.get("http://a.test/\(number)"), priority: number % 3) }
      await begun.wait(for: before + width)

      #expect(queue.cancelAll() == 10)

      #expect(await queue.finish() == RequestQueue.Summary(added: 10, cancelled: 10))
      #expect(begun.elements.count == before + width)
    }
  }

  @Test func `a running request accepts no dependency`() async throws {
    let begun = Log<String>()
    let transport = StubTransport { request in
      begun.add(request.url?.lastPathComponent ?? "")
      try await untilCancelled()
    }
    let queue = RequestQueue(client: HTTPClient(transport, Self.settings), limits: .concurrent(1))
    let running = queue.add(.get("http://a.test/running"))
    await begun.wait(for: 1)
    let next = queue.add(.get("http://a.test/next"))

    #expect(try !queue.addDependency(next.id, to: running.id))

    running.cancel()
    await begun.wait(for: 2)
    #expect(begun.elements == ["running", "next"])
    queue.cancelAll()
    #expect(await queue.finish() == RequestQueue.Summary(added: 2, cancelled: 2))
  }

  @Test func `does not count the same bytes twice`() {
    var tally = QueueTally(.simple)
    let id = RequestID(number: 1)
    tally.add()
    for received in [10, 60, 60, 100] as [Int64] {
      tally.move(TransferProgress(sent: 5, received: received, expectedToSend: nil, expectedToReceive: nil), of: id)
    }
    #expect(tally.progress.received == 100 && tally.progress.sent == 5)
  }
}
