// SearchAsYouType BASE-URL TEXT
// Types TEXT letter by letter and prints the model's final state.
import Foundation
import Martlet

@main enum SearchAsYouType {
  @MainActor static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst()
    guard arguments.count == 2, let first = arguments.first, let base = URL(string: first), let text = arguments.last
    else {
      fail("usage: SearchAsYouType BASE-URL TEXT", code: 64)
    }
    let client = HTTPClient {
      $0.baseURL = RequestTarget(base)
      $0.timeout.total = .seconds(10)
    }
    let model = SearchModel(client: client)

    var typed = ""
    for letter in text {
      typed.append(letter)
      model.textChanged(to: typed)
      try await Task.sleep(for: .milliseconds(80))
    }
    while model.isSearching { try await Task.sleep(for: .milliseconds(10)) }

    if let failure = model.failure { fail(failure, code: 1) }
    for suggestion in model.results { print(suggestion.title) }
  }

  static func fail(_ message: String, code: Int32) -> Never {
    FileHandle.standardError.write(Data((message + "\n").utf8))
    exit(code)
  }
}
