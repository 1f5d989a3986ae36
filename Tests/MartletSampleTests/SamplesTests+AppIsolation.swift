import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

/// Samples from the article on apps on the main actor.
extension SamplesTests {
  private nonisolated static let contacts = #"[{"id":1,"name":"Ada"}]"#

  @MainActor @Test func `loads and searches on the main actor`() async {
    let transport = StubTransport { _ in .json(Self.contacts) }
    let client = Self.client(transport)
    let model = ContactsModel(client: client)

    await model.load()
    #expect(model.contacts.map(\.name) == ["Ada"])
    model.search(for: "a")
    model.search(for: "ad")
    await client.waitUntilEmpty()

    #expect(model.contacts.map(\.id) == [1])
    #expect(model.failure == nil)
    #expect(transport.requests.contains { $0.query["q"] == "ad" })
  }

  @MainActor @Test func `shows failures and ignores cancellation`() async {
    let failing = ContactsModel(client: Self.client(.status(.serviceUnavailable)))
    await failing.load()
    #expect(failing.failure?.status == .serviceUnavailable)

    let model = ContactsModel(client: Self.client(StubTransport { _ in try await untilCancelled() }))
    let view = Task { await model.load() }
    view.cancel()
    await view.value
    #expect(model.failure == nil && model.contacts.isEmpty)
  }

  @MainActor @Test func `sends a value that is not Sendable from the main actor`() async throws {
    let transport = StubTransport { _ in .json(#"{"title":"a"}"#) }
    let client = Self.client(transport)
    let draft = Draft(title: "a")

    try await client.put("/drafts/1", body: .json(draft, encoder: client.configuration.encoder))
    let stored = try await client.get("/drafts/1").json(Draft.self)

    #expect(stored.title == "a")
    #expect(try await transport.requests.first?.bodyData() == Data(#"{"title":"a"}"#.utf8))
  }

  @MainActor @Test func `scopes requests to a function on the main actor`() async throws {
    let transport = StubTransport(routes: [
      "GET /contacts": .json(Self.contacts), "GET /groups": .json(#"["a","b"]"#),
    ])
    let model = GroupsModel(client: Self.client(transport))

    try await model.refresh()

    #expect(model.contacts.map(\.name) == ["Ada"])
    #expect(model.groupCount == 2)
  }

  @MainActor @Test func `reads a stream on the main actor`() async throws {
    let client = Self.client(.text("a\nb"))
    let model = LogModel()

    for try await line in try await client.stream("/log").lines { model.lines.append(line) }

    #expect(model.lines == ["a", "b"])
  }
}

@MainActor final class ContactsModel {
  private(set) var contacts: [Contact] = []
  private(set) var failure: HTTPError?
  private let client: HTTPClient
  private let requests: RequestScope

  init(client: HTTPClient) {
    self.client = client
    requests = RequestScope(client: client)
  }

  func load() async {
    do {
      contacts = try await client.get("/contacts", as: [Contact].self)
    } catch let error as HTTPError {
      failure = error
    } catch {
      // Cancelled: the view is gone.
    }
  }

  func search(for text: String) {
    requests.start(
      SearchContacts(text: text), replacing: "search", for: self,
      onSuccess: { model, contacts in model.contacts = contacts },
      onError: { model, error in model.failure = error })
  }
}

@MainActor private final class GroupsModel {
  private(set) var contacts: [Contact] = []
  private(set) var groupCount = 0
  private let client: HTTPClient

  init(client: HTTPClient) { self.client = client }

  func refresh() async throws {
    try await withRequestScope(client: client) { scope in
      let all = scope.start(ListContacts())
      let groups = scope.start("/groups")
      contacts = try await all.value
      groupCount = try await groups.value.json([String].self).count
    }
  }
}

@MainActor private final class LogModel {
  var lines: [String] = []
}

nonisolated struct Contact: Codable, Sendable {
  var id: Int
  var name: String
}

nonisolated struct SearchContacts: Endpoint {
  typealias Output = [Contact]
  var text: String
  var target: RequestTarget { "/contacts" }
  var query: Query { ["q": text] }
}

private nonisolated struct ListContacts: Endpoint {
  typealias Output = [Contact]
  var target: RequestTarget { "/contacts" }
}

/// Not `Sendable`.
private final class Draft: Codable {
  var title: String

  init(title: String) { self.title = title }
}
