import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// Closures and events that replace the blocks and selectors of ASIHTTPRequest.
@Suite(.hangLimit) struct HandleEventsTests {
  // S8, S134: testBlocks
  @MainActor @Test func `events, progress and callbacks cover the block callbacks of ASIHTTPRequest`() async throws {
    let client = HTTPClient {
      $0.clock = TestClock()
      $0.baseURL = "http://example.test"
      $0.authenticators[.baseURL] = .basic(user: "u", password: "p")
      $0.transport = StubTransport(withContext: { request, context in
        if request.headers["Authorization"] == nil { return AuthServer.refusal(#"Basic realm="r""#) }
        if request.url?.path() == "/a" { return .redirect(to: "/b", status: .temporaryRedirect) }
        context.didSend(4, of: 4)
        context.didReceive(6, of: 6)
        return .text("answer")
      })
    }
    var calls: [String] = []
    let moved = Log<TransferProgress>()

    let handle = client.put(
      "/a", body: .text("body"), options: .onProgress { moved.add($0) }, onStart: { calls.append("started") },
      onSuccess: { calls.append("finished \($0.text)") }, onError: { _ in calls.append("failed") })
    var told: [String] = []
    for await event in handle.events {
      switch event {
      case .head(let status): told.append("headers \(status.rawValue)")
      case .authenticating(let scheme, let realm): told.append("authentication \(scheme) \(realm ?? "")")
      case .redirected: told.append("redirected")
      default: break
      }
    }

    #expect(told == ["headers 401", "authentication Basic r", "headers 307", "redirected", "headers 200"])
    #expect(moved.elements.last?.sent == 4 && moved.elements.last?.expectedToSend == 4)
    #expect(moved.elements.last?.received == 6 && moved.elements.last?.expectedToReceive == 6)
    await client.waitUntilEmpty()
    #expect(calls == ["started", "finished answer"])
    // A stream replaces the block that receives data.
    let data = try await client.stream(.put("/a", body: .text("body"))) { try await $0.body.collect(upTo: 100) }
    #expect(data == Data("answer".utf8))
  }

  // S9, S134: testDelegateMethods
  @MainActor @Test func `each request calls its own closures`() async throws {
    let client = HTTPClient {
      $0.clock = TestClock()
      $0.transport = .stub { $0.url?.path() == "/bad" ? .status(500) : .text($0.url?.path() ?? "") }
    }
    var calls: [String: [String]] = [:]

    for path in ["/1", "/2", "/bad"] {
      client.get(
        "http://example.test\(raw: path)", onStart: { calls[path, default: []].append("start") },
        onSuccess: { calls[path, default: []].append($0.text) },
        onError: { calls[path, default: []].append("\($0.kind)") })
    }

    await client.waitUntilEmpty()
    #expect(calls == ["/1": ["start", "/1"], "/2": ["start", "/2"], "/bad": ["start", "status"]])
  }
}
