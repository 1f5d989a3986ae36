import Foundation
import MartletTesting
import Testing

@testable import Martlet

extension CacheMiddlewareTests {
  // MARK: One exchange for many

  @Test func `the same GET under way is waited for`() async throws {
    let gate = AsyncStream.makeStream(of: Void.self)
    let transport = StubTransport { _ in
      for await _ in gate.stream { break }
      return .status(.ok, headers: ["Cache-Control": "max-age=60"], body: Data("x".utf8))
    }
    let client = client(transport)

    try await withThrowingTaskGroup(of: HTTPResponse.self) { group in
      for _ in 0..<20 { group.addTask { try await client.get("http://a.test/x") } }
      try await Task.sleep(for: .milliseconds(100))
      gate.continuation.yield()
      for try await response in group { #expect(response.text == "x") }
    }

    #expect(transport.requests.count == 1)
  }

  @Test func `who leaves leaves alone`() async throws {
    let gate = AsyncStream.makeStream(of: Void.self)
    let transport = StubTransport { _ in
      for await _ in gate.stream { break }
      try Task.checkCancellation()
      return .status(.ok, headers: ["Cache-Control": "max-age=60"], body: Data("x".utf8))
    }
    let client = client(transport)

    let leader = Task { try await client.get("http://a.test/x") }
    try await Task.sleep(for: .milliseconds(50))
    let others = (0..<5).map { _ in Task { try await client.get("http://a.test/x") } }
    try await Task.sleep(for: .milliseconds(50))
    others[4].cancel()
    leader.cancel()
    await #expect(throws: CancellationError.self) { try await leader.value }
    await #expect(throws: CancellationError.self) { try await others[4].value }
    try await Task.sleep(for: .milliseconds(50))
    gate.continuation.finish()

    for other in others[..<4] { #expect(try await other.value.text == "x") }
    #expect(transport.requests.count == 2)
  }

  @Test func `what cannot be shared is asked for by each, and not waited for again`() async throws {
    let transport = StubTransport { _ in
      try await Task.sleep(for: .milliseconds(30))
      return .text("x")
    }
    let client = client(transport)

    for _ in 0..<2 {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<8 { group.addTask { _ = try await client.get("http://a.test/x") } }
        try await group.waitForAll()
      }
    }

    #expect(transport.requests.count == 16)
  }

  @Test func `coalescing can be switched off`() async throws {
    let transport = StubTransport { _ in
      try await Task.sleep(for: .milliseconds(30))
      return .status(.ok, headers: ["Cache-Control": "max-age=60"], body: Data("x".utf8))
    }
    let client = client(transport) { $0.options.coalesces = false }

    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 { group.addTask { _ = try await client.get("http://a.test/x") } }
      try await group.waitForAll()
    }

    #expect(transport.requests.count == 8)
  }

  // MARK: Renewal in the background

  @Test func `a stale response is used while it is renewed, once, by work that can be seen`() async throws {
    let transport = transport(["Cache-Control": "max-age=60, stale-while-revalidate=60"])
    let client = client(transport)

    _ = try await client.get("http://a.test/x")
    day.pass(90)
    let second = try await client.get("http://a.test/x")
    #expect(second.source == .cache && second.text == "body 1")
    await client.activity.waitUntilIdle()
    let third = try await client.get("http://a.test/x")

    #expect(third.source == .cache && third.text == "body 2")
    #expect(transport.requests.count == 2)
    #expect(client.activity.current.totals.started == 4)
  }
}
