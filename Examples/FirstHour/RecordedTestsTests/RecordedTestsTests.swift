import Foundation
import Martlet
import MartletTesting
import Testing

@testable import RecordedTests

struct RecordedTestsTests {
  private let transport = StubTransport(routes: [
    "GET /notes": .json(#"[{"id":1,"text":"milk"},{"id":2,"text":"bread"}]"#),
    "GET /notes/1": .json(#"{"id":1,"text":"milk"}"#),
    "GET /notes/9": .status(404),
    "POST /notes": .json(#"{"id":3,"text":"eggs"}"#),
    "DELETE /notes/1": .status(204),
  ])

  private var api: APIClient {
    let transport = transport
    return APIClient(
      client: HTTPClient {
        $0.transport = transport
        $0.baseURL = "http://example.test"
      })
  }

  @Test func listsNotesWithATag() async throws {
    let notes = try await api.notes(tagged: "to buy")

    #expect(notes == [Note(id: 1, text: "milk"), Note(id: 2, text: "bread")])
    let request = try #require(transport.requests.first)
    #expect(transport.requests.count == 1)
    #expect(request.method == .get)
    #expect(request.url?.path() == "/notes")
    #expect(request.url?.query() == "tag=to%20buy")
  }

  @Test func leavesOutAMissingTag() async throws {
    _ = try await api.notes()

    #expect(transport.requests.first?.url?.query() == nil)
  }

  @Test func addsANote() async throws {
    let note = try await api.add(NewNote(text: "eggs", tags: ["food", "to buy"]))

    #expect(note == Note(id: 3, text: "eggs"))
    let request = try #require(transport.requests.first)
    #expect(request.method == .post)
    #expect(request.url?.path() == "/notes")
    #expect(request.headers["Content-Type"]?.hasPrefix("application/json") == true)
    let body = try JSONDecoder().decode(JSONValue.self, from: try await request.bodyData())
    let expected: JSONValue = ["text": "eggs", "tags": ["food", "to buy"]]
    #expect(body == expected)
  }

  @Test func aMissingNoteIsNoError() async throws {
    #expect(try await api.note(id: 9) == nil)
    #expect(try await api.note(id: 1)?.text == "milk")
  }

  @Test func deletesANote() async throws {
    try await api.delete(id: 1)

    #expect(transport.requests.map(\.method) == [.delete])
    #expect(transport.requests.first?.url?.path() == "/notes/1")
  }
}
