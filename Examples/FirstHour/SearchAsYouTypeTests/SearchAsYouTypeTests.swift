import Martlet
import MartletTesting
import Testing

@testable import SearchAsYouType

@MainActor
struct SearchAsYouTypeTests {
  @Test(.timeLimit(.minutes(1)))
  func onlyTheLastKeystrokeIsShown() async throws {
    // The responses to the first keystrokes arrive last, so they would overwrite the right one.
    let transport = StubTransport { request in
      let text = request.query["q"] ?? ""
      if text != "swift" { try await Task.sleep(for: .milliseconds(200)) }
      return .json(#"[{"title":"result for \#(text)"}]"#)
    }
    let client = HTTPClient {
      $0.transport = transport
      $0.baseURL = "http://example.test"
    }
    let model = SearchModel(client: client)

    model.textChanged(to: "s")
    while transport.requests.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
    model.textChanged(to: "sw")
    model.textChanged(to: "swift")
    #expect(model.isSearching)
    while model.isSearching { try await Task.sleep(for: .milliseconds(1)) }

    #expect(model.results == [Suggestion(title: "result for swift")])
    try await Task.sleep(for: .milliseconds(300))
    #expect(model.results == [Suggestion(title: "result for swift")])
    #expect(model.failure == nil)
  }

  @Test(.timeLimit(.minutes(1)))
  func noTextEndsTheSearch() async throws {
    let transport = StubTransport { _ in
      try await Task.sleep(for: .milliseconds(50))
      return .json(#"[{"title":"late"}]"#)
    }
    let client = HTTPClient {
      $0.transport = transport
      $0.baseURL = "http://example.test"
    }
    let model = SearchModel(client: client)

    model.textChanged(to: "s")
    model.textChanged(to: " ")
    try await Task.sleep(for: .milliseconds(150))

    #expect(model.results.isEmpty)
    #expect(!model.isSearching)
  }
}
