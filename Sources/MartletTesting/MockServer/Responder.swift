/// The source of a mock server's responses.
enum Responder: Sendable {
  /// The same response each time.
  case fixed(MockResponse)
  /// One response per request of the server, in order; the last repeats.
  case script([MockResponse])
  /// One list of responses per connection; the last list repeats.
  ///
  /// A connection is closed after its list.
  case connections([[MockResponse]])
  /// A closure called on the thread of the loop.
  case immediate(@Sendable (RecordedRequest) -> MockResponse)
  /// A closure called in a task.
  case concurrent(@Sendable (RecordedRequest) async -> MockResponse)

  /// The response to the request with an index in the order of arrival.
  ///
  /// Returns `nil` if a closure determines it, once the body is read.
  func prepared(for request: RecordedRequest, index: Int) -> MockResponse? {
    switch self {
    case .fixed(let response): return response
    case .script(let script): return script[min(index, script.count - 1)]
    case .connections(let scripts):
      let script = scripts[min(request.connection, scripts.count - 1)]
      guard request.indexOnConnection < script.count else { return .steps([.cut]) }
      let response = script[request.indexOnConnection]
      return request.indexOnConnection == script.count - 1 ? response.thenClose() : response
    case .immediate, .concurrent: return nil
    }
  }
}
