import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct CacheRecorderTests {
  @Test func `does not store an incomplete body of unknown length`() async throws {
    let count = Shared(0)
    let transport = StubTransport { _ in
      let number = count.withLock { count in
        count += 1
        return count
      }
      let pieces = Shared([Data("ab".utf8), Data("cd".utf8)])
      return .streamed(headers: ["Cache-Control": "max-age=60"]) {
        let next = pieces.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        if number == 1, next == Data("cd".utf8) { throw HTTPError(.connectionLost, "gone") }
        return next
      }
    }
    let client = HTTPClient {
      $0.transport = transport
      $0.retry = .off
    }

    await #expect(throws: HTTPError.self) { try await client.get("https://a.test/x") }
    let second = try await client.get("https://a.test/x")
    let third = try await client.get("https://a.test/x")

    #expect(second.source == .network && second.text == "abcd")
    #expect(third.source == .cache && third.text == "abcd")
  }
}
