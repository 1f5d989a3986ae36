import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

extension CacheStageTests {
  // MARK: How stored responses reach the caller

  // S134: testCacheOnlyCallsRequestFinishedOnce
  @MainActor @Test(arguments: [0, 100]) func `a stored response calls each callback once`(age: TimeInterval)
    async throws
  {
    let transport = transport(["Cache-Control": "max-age=60", "ETag": "\"1\""], confirms: true)
    let client = HTTPClient.onTestClock(transport, .now(day))
    _ = try await client.get("http://a.test/x")
    day.pass(age)
    var calls: [String] = []

    client.get(
      "http://a.test/x", onStart: { calls.append("start") }, onSuccess: { calls.append("\($0.source)") },
      onError: { _ in calls.append("error") })

    await client.waitUntilEmpty()
    #expect(calls == ["start", age == 0 ? "cache" : "revalidated"])
  }

  // S134: testStringEncoding
  @Test func `decodes the text of a stored response by its charset`() async throws {
    let transport = StubTransport { _ in
      .status(
        .ok, headers: ["Cache-Control": "max-age=60", "Content-Type": "text/plain; charset=utf-16"],
        body: Data([0xFE, 0xFF, 0x00, 0xE9, 0x20, 0xAC]))
    }
    let client = HTTPClient.onTestClock(transport, .now(day))

    let first = try await client.get("http://a.test/x")
    let second = try await client.get("http://a.test/x")

    #expect(second.source == .cache)
    #expect(first.text == "é€" && second.text == "é€")
  }
}
