import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// Callbacks that belong to an object, which may be released at any time.
@Suite(.hangLimit) struct OwnerTests {
  private final class Owner: Sendable {
    let number: Int
    init(_ number: Int) { self.number = number }
  }

  // S8, S17
  @Test func `a running request does not retain its owner or call a released one`() async throws {
    let gate = Gate()
    let client = HTTPClient.stubbed(
      StubTransport { request in
        await gate.pass()
        return request.url?.path() == "/bad" ? .status(500) : .text("x")
      })
    // The scope outlives the owner.
    let scope = RequestScope(client: client)
    let calls = Log<Int>()
    var owner: Owner? = Owner(1)
    weak let reference = owner
    var handles: [RequestHandle<HTTPResponse>] = []
    if let owner {
      for path in ["/good", "/bad"] {
        handles.append(
          scope.start(
            .get("http://example.test\(raw: path)"), for: owner, onSuccess: { owner, _ in calls.add(owner.number) },
            onError: { owner, _ in calls.add(-owner.number) }))
      }
    }
    await gate.waitForArrivals(2)

    owner = nil

    #expect(reference == nil)
    gate.open()
    #expect(try await handles[0].value.text == "x")
    await #expect(throws: HTTPError.self) { try await handles[1].value }
    await client.waitUntilEmpty()
    #expect(calls.elements.isEmpty)
  }

  // S17, S134: testSetDelegate
  @Test func `each retained owner is called once while others are released`() async throws {
    let client = HTTPClient.stubbed(
      StubTransport { _ in
        await Task.yield()
        return .text("x")
      }
    ) { $0.cache = .off }
    let scope = RequestScope(client: client)
    let calls = Log<Int>()
    let count = Stress.count(50, full: 250)

    let kept = await withTaskGroup(of: [Owner].self) { group in
      for task in 0..<8 {
        group.addTask {
          var kept: [Owner] = []
          for index in 0..<count {
            let owner = Owner(task * count + index)
            scope.start(
              .get("http://example.test/"), for: owner, onSuccess: { owner, _ in calls.add(owner.number) })
            if index.isMultiple(of: 2) { kept.append(owner) }
            if index.isMultiple(of: 7) { await Task.yield() }
          }
          return kept
        }
      }
      return await group.reduce(into: []) { $0 += $1 }
    }
    await client.waitUntilEmpty()

    let counts = Dictionary(calls.elements.map { ($0, 1) }, uniquingKeysWith: +)
    #expect(kept.count == 4 * count && kept.allSatisfy { counts[$0.number] == 1 })
    #expect(counts.values.allSatisfy { $0 == 1 })
  }
}
