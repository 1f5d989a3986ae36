import Foundation
import MartletBase
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// Which request leads, and which requests wait for its response.
@Suite(.hangLimit) struct RequestCoalescerTests {
  private let flights = RequestCoalescer()

  private static func key(_ path: String) -> RequestCoalescer.Key {
    RequestCoalescer.Key(CacheQuery(url: "https://a.test/\(path)", headers: [:], identity: nil))
  }

  private func lead(_ path: String) -> RequestCoalescer.Lease? {
    if case .lead(let lease) = flights.join(Self.key(path)) { return lease }
    return nil
  }

  private func waits(_ path: String) -> Bool { if case .wait = flights.join(Self.key(path)) { true } else { false } }

  private func isAlone(_ path: String) -> Bool { if case .alone = flights.join(Self.key(path)) { true } else { false } }

  @Test func `one request leads, and equal requests wait until it ends`() throws {
    let lease = try #require(lead("a"))
    #expect(waits("a") && !waits("b"))

    lease.end(.stored)

    #expect(lead("a") != nil)
  }

  @Test func `a released lease lets another request lead`() throws {
    var lease = lead("a")
    #expect(lease != nil && waits("a"))

    lease = nil

    #expect(lead("a") != nil)
  }

  @Test func `the release of an ended lease does not end the next one`() throws {
    var first = lead("a")
    first?.end(.stored)
    let second = try #require(lead("a"))

    // Releasing the first lease ends it a second time.
    first = nil

    #expect(waits("a"))
    second.end(.left)
    #expect(lead("a") != nil)
  }

  @Test func `a cancelled request stops waiting while the leader continues`() async throws {
    let client = HTTPClient { $0.transport = StubTransport { _ in .text("x") } }
    let call = try client.core.begin(.get("https://a.test/"), options: RequestOptions(), isManaged: false)
    let lease = try #require(lead("a"))
    guard case .wait(let flight) = flights.join(Self.key("a")) else {
      Issue.record("there is nobody to wait for")
      return
    }
    let waiter = Task {
      try await flight.wait(RequestCoalescer.Patience(from: .zero, until: nil), call.timeline, call.abortSource)
    }

    call.abort(CancellationError())

    await #expect(throws: CancellationError.self) { try await waiter.value }
    lease.end(.stored)
  }

  @Test(arguments: [
    (end: nil as Duration?, head: Duration.milliseconds(500), body: Duration.seconds(10)),
    (.seconds(60), .milliseconds(500), .seconds(10)),
    (.seconds(8), .milliseconds(500), .seconds(4)),
    (.milliseconds(600), .milliseconds(300), .milliseconds(300)),
    (.zero, .zero, .zero), (.seconds(-1), .zero, .zero),
  ])
  func `a wait takes at most half of the remaining time`(end: Duration?, head: Duration, body: Duration) {
    let start = Duration.seconds(3)

    let patience = RequestCoalescer.Patience(from: start, until: end.map { start + $0 })

    #expect(patience.head - start == head && patience.body - start == body)
  }

  @Test func `requests are not coalesced after a response that was not stored`() throws {
    try #require(lead("a")).end(.notStored)

    #expect(isAlone("a"))
    #expect(isAlone("a"))
    #expect(lead("b") != nil)
  }
}
