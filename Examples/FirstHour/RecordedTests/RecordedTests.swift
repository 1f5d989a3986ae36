// RecordedTests BASE-URL [TEXT]
// An app's API client with an injected HTTP client, which tests replace. Adds a note and prints all notes.
import Foundation
import Martlet

struct Note: Decodable, Sendable, Equatable {
  var id: Int
  var text: String
}

struct NewNote: Encodable, Sendable {
  var text: String
  var tags: [String]
}

struct APIClient: Sendable {
  private let client: HTTPClient

  init(client: HTTPClient) {
    self.client = client
  }

  func notes(tagged tag: String? = nil) async throws -> [Note] {
    try await client.get("/notes", query: ["tag": tag], as: [Note].self)
  }

  /// Returns a note, or `nil` if it does not exist.
  func note(id: Int) async throws -> Note? {
    do {
      return try await client.get("/notes/\(id)", as: Note.self)
    } catch let error as HTTPError where error.status == .notFound {
      return nil
    }
  }

  func add(_ note: NewNote) async throws -> Note {
    try await client.post("/notes", body: .json(note), as: Note.self)
  }

  func delete(id: Int) async throws {
    try await client.delete("/notes/\(id)")
  }
}

@main enum RecordedTests {
  static func main() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    guard let first = arguments.first, let base = URL(string: first) else {
      fail("usage: RecordedTests BASE-URL [TEXT]", code: 64)
    }
    let api = APIClient(
      client: HTTPClient {
        $0.baseURL = RequestTarget(base)
        $0.timeout.total = .seconds(20)
        $0.retry = .backoff(attempts: 3)
      })
    do {
      if arguments.count > 1 {
        let note = try await api.add(NewNote(text: arguments[1], tags: ["command-line"]))
        print("added", note.id)
      }
      for note in try await api.notes() { print(note.id, note.text, separator: "\t") }
    } catch let error as HTTPError {
      fail(error.isTransient ? "try again later: \(error)" : "\(error)", code: 1)
    }
  }

  static func fail(_ message: String, code: Int32) -> Never {
    FileHandle.standardError.write(Data((message + "\n").utf8))
    exit(code)
  }
}
