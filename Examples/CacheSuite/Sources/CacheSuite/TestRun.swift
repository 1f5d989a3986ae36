import Foundation
import Martlet

/// Sends a test's requests and checks the responses like the suite's own client.
struct TestRun: Sendable {
  let test: Test
  let client: HTTPClient
  /// The server's URL, without a slash at the end.
  let base: String
  let isVerbose: Bool

  private static let pause = Duration.seconds(3)
  private static let limit = Duration.seconds(10)

  @concurrent
  func run() async -> Outcome {
    let run = UUID().uuidString.lowercased()
    var log = "\n\(test.id) (\(run))\n"
    let outcome: Outcome
    do {
      try await exchange(run, &log)
      outcome = .passed
    } catch let failure as Failure {
      outcome = .failed(failure)
    } catch let error as HTTPError {
      // The suite's name for a timeout.
      outcome = .failed(Failure(error.isTimeout ? "AbortError" : "\(error.kind)", "\(error)"))
    } catch {
      outcome = .failed(Failure("\(type(of: error))", "\(error)"))
    }
    if isVerbose {
      if case .failed(let failure) = outcome { log += "  \(failure)\n" } else { log += "  passed\n" }
      print(log, terminator: "")
    }
    return outcome
  }

  private func exchange(_ run: String, _ log: inout String) async throws {
    let options = RequestOptions.accepts(.any).retry(.off).timeout(Self.limit)
    let configuration = HTTPBody.text(test.configuration, contentType: "application/json")
    let stored = try await client.send(
      .put(RequestTarget(base + "/config/" + run), body: configuration), options: options)
    try Failure.unless(stored.status == 201, setup: true, "PUT config resulted in \(stored.status.rawValue)")

    var responses: [Fields] = []
    for (index, step) in test.requests.enumerated() {
      let request = request(step, number: index + 1, run: run, previous: responses.last)
      log += "> \(request.method) \(run)\n" + Self.lines(request.headers)
      let redirects: RedirectPolicy = step["redirect"] == .string("manual") ? .off : .follow
      let response = try await client.send(request, options: options.redirects(redirects))
      log += "< \(response.status.rawValue) from \(response.source)\n" + Self.lines(response.headers)
      responses.append(Fields(response.headers))
      try ResponseCheck(step: step, number: index + 1, response: response).run(uuid: run)
      if step.isTrue("pause_after") { try await Task.sleep(for: Self.pause) }
    }

    let state = try await client.send(.get(RequestTarget(base + "/state/" + run)), options: options)
    let seen = state.status == 200 ? try JSONDecoder().decode([JSON].self, from: state.body) : []
    log += "seen by the server: \(seen.map { $0["request_num"].description }.joined(separator: " "))\n"
    try ServerCheck(steps: test.requests, responses: responses, seen: seen).run()
  }

  private func request(_ step: Step, number: Int, run: String, previous: Fields?) -> HTTPRequest {
    var target = "\(base)/test/\(run)"
    if let name = step["filename"]?.string { target += "/\(name)" }
    if let query = step["query_arg"]?.string { target += "?\(query)" }
    var headers = HTTPHeaders()
    func add(_ name: String, _ value: String) {
      headers[name] = headers[name].map { "\($0), \(value)" } ?? value
    }
    for field in step["request_headers"]?.list ?? [] {
      let name = field[0].description
      var value = field[1]
      if step.isTrue("magic_ims"), name.lowercased() == "if-modified-since", let previous {
        value = Fields.expanded(name, value, by: previous, in: step)
      }
      add(name, value.description)
    }
    // The Fetch standard sends this field for this mode.
    if step["cache"] == .string("no-cache"), !headers.contains("Cache-Control") { add("Cache-Control", "max-age=0") }
    if let name = step["name"]?.string { add("Test-Name", name) }
    add("Test-ID", test.id)
    add("Req-Num", "\(number)")
    return HTTPRequest(
      HTTPMethod(step["request_method"]?.string ?? "GET"), RequestTarget(target), headers: headers,
      body: step["request_body"]?.string.map { .text($0, contentType: "text/plain;charset=UTF-8") })
  }

  private static func lines(_ headers: HTTPHeaders) -> String {
    headers.map { "    \($0.name): \($0.value)\n" }.joined()
  }
}
