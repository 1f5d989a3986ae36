// A model that searches while its user types: the newest keystroke replaces the request of the one before.
import Foundation
import Martlet

struct Suggestion: Decodable, Sendable, Equatable {
  var title: String
}

struct FindSuggestions: Endpoint {
  typealias Output = [Suggestion]
  var text: String
  var target: RequestTarget { "/search" }
  var query: Query { ["q": text] }
}

@MainActor
final class SearchModel {
  private(set) var results: [Suggestion] = []
  private(set) var failure: String?
  private(set) var isSearching = false
  private let requests: RequestScope

  init(client: HTTPClient) {
    requests = RequestScope(client: client)
  }

  func textChanged(to newText: String) {
    let text = newText.trimmingCharacters(in: .whitespaces)
    failure = nil
    guard !text.isEmpty else {
      requests.cancelAll()
      results = []
      isSearching = false
      return
    }
    isSearching = true
    requests.start(
      FindSuggestions(text: text), replacing: "search", for: self,
      onSuccess: { model, suggestions in
        model.results = suggestions
        model.isSearching = false
      },
      onError: { model, error in
        model.failure = error.isConnectivity ? "You seem to be offline." : "The search failed: \(error)"
        model.isSearching = false
      })
  }
}
