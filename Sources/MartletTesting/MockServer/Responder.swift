/// Where the answers of a mock server come from.
enum Responder: Sendable {
  /// The same answer each time.
  case fixed(MockResponse)
  /// One answer per request of the server, in order; the last repeats.
  case script([MockResponse])
  /// One list of answers per connection; a connection is closed after its list, and the last list repeats.
  case connections([[MockResponse]])
  /// A closure called on the thread of the loop.
  case immediate(@Sendable (RecordedRequest) -> MockResponse)
  /// A closure called in a task.
  case concurrent(@Sendable (RecordedRequest) async -> MockResponse)

  /// The answer to the request at a place in the order of arrival; `nil` if a closure has to be asked, with the body.
  func prepared(for request: RecordedRequest, index: Int) -> MockResponse? {
    switch self {
    case .fixed(let response):
      return response
    case .script(let script):
      return script[min(index, script.count - 1)]
    case .connections(let scripts):
      let script = scripts[min(request.connection, scripts.count - 1)]
      guard request.indexOnConnection < script.count else { return .steps([.cut]) }
      let response = script[request.indexOnConnection]
      return request.indexOnConnection == script.count - 1 ? response.thenClose() : response
    case .immediate, .concurrent:
      return nil
    }
  }
}
