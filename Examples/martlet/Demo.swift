import Foundation
import Martlet
import MartletHAR
import MartletTesting

/// `martlet demo`: shows the library's features in turn, each against a server in this process.
///
/// Every step is written like a user's program, checks its result, and returns the text of its line.
@MainActor
struct Demo {
  let output: Terminal

  /// Runs all steps.
  ///
  /// - Returns: Success only if every step succeeded.
  func run() async -> ExitCode {
    var list = Checklist(output: output)
    list.begin("martlet demo: a server on 127.0.0.1, and what the library does with it")
    await list.step("GET into a type", getIntoType)
    await list.step("POST with JSON", postJSON)
    await list.step("Callbacks", callbacks)
    await list.step("Fire and forget", fireAndForget)
    await list.step("A scope goes away", scope)
    await list.step("Retry", retry)
    await list.step("Timeout", timeout)
    await list.step("Why", why)
    await list.step("Activity", activity)
    await list.step("Recording", recording)
    return list.end() ? .success : .failure
  }

  struct User: Codable, Equatable, Sendable {
    var id: Int
    var name: String
  }

  /// A GET whose JSON is decoded into a type; values interpolated into the path are escaped.
  private func getIntoType() async throws -> String {
    let server = try MockServer(.json(#"{"id": 7, "name": "Ada"}"#))
    let client = HTTPClient { $0.baseURL = RequestTarget(server.url) }

    let id = 7
    let user = try await client.get("/users/\(id)", query: ["full": true], as: User.self)

    try check(user == User(id: 7, name: "Ada"), "got \(user)")
    try check(server.requests.map(\.target) == ["/users/7?full=true"], "the server saw another target")
    return "User \(user.id) is \(user.name)"
  }

  /// A POST that encodes a value as JSON and decodes another one.
  private func postJSON() async throws -> String {
    let server = try MockServer(answering: MockResponse.echo)
    let client = HTTPClient { $0.baseURL = RequestTarget(server.url) }

    let grace = User(id: 8, name: "Grace")
    let stored = try await client.post("/users", body: .json(grace), as: User.self)

    try check(stored == grace, "got \(stored)")
    try check(server.requests.first?.method == "POST", "the server saw another method")
    try check(server.requests.first?.header("Content-Type") == "application/json", "the server saw another type")
    return "the server has \(server.requests.first?.text ?? "nothing")"
  }

  /// The state of a screen, changed by callbacks on the main actor without a separate task.
  private final class Screen {
    var isBusy = false
    var title: String?
    var log: [String] = []
  }

  /// Callbacks, which run on the actor that started the request.
  private func callbacks() async throws -> String {
    let server = try MockServer(.ok("All quiet").delayed(by: .milliseconds(50)))
    let client = HTTPClient { $0.baseURL = RequestTarget(server.url) }
    let screen = Screen()

    client.get(
      "/news",
      onStart: {
        screen.isBusy = true
        screen.log.append("onStart")
      },
      onSuccess: { response in
        screen.isBusy = false
        screen.title = response.text
        screen.log.append("onSuccess")
      },
      onError: { error in screen.log.append("onError \(error)") })

    try await eventually("a callback") { screen.log.count == 2 }
    try check(screen.log == ["onStart", "onSuccess"], "called \(screen.log)")
    try check(screen.title == "All quiet" && !screen.isBusy, "the screen shows \(screen.title ?? "nothing")")
    return "onStart, then onSuccess with \"All quiet\""
  }

  /// A request without a waiting caller: it outlives its handle and its client.
  private func fireAndForget() async throws -> String {
    let server = try MockServer(.empty(204).delayed(by: .milliseconds(50)))

    do {
      let client = HTTPClient { $0.baseURL = RequestTarget(server.url) }
      client.start(.post("/events", body: .json(["event": "opened"])))
      // Here the client is released; its handle was never kept.
    }

    let hasArrived = await server.wait { $0.requests.first?.isComplete ?? false }
    try check(hasArrived, "the server never received the request")
    try check(server.requests.first?.text == #"{"event":"opened"}"#, "the server received a different request")
    return "the client and its handle are gone, but the server received the request"
  }

  /// A scope is a property of its requests' owner, and ends with the owner.
  private final class SearchModel {
    private let requests: RequestScope

    init(client: HTTPClient) { requests = RequestScope(client: client) }

    func search(_ text: String, for screen: Screen) {
      requests.start(.get("/search", query: ["q": text]), replacing: "search", for: screen) { screen, response in
        screen.log.append("found \(response.text)")
      } onError: { screen, error in
        screen.log.append("failed: \(error)")
      }
    }
  }

  /// Releasing a model cancels its requests and silences its callbacks.
  private func scope() async throws -> String {
    let server = try MockServer(.hang)
    let client = HTTPClient { $0.baseURL = RequestTarget(server.url) }
    let screen = Screen()

    var model: SearchModel? = SearchModel(client: client)
    model?.search("swift", for: screen)
    try check(await server.waitForRequests(1), "the server never received the request")
    model = nil

    let isGone = await server.wait { $0.disconnects == 1 }
    try check(isGone, "the connection is still open")
    await client.activity.waitUntilIdle()
    try check(screen.log.isEmpty && client.activity.current.totals.cancelled == 1, "called back: \(screen.log)")
    return "the server saw the disconnect, and no callback ran"
  }

  /// Transient failures are retried, with growing delays.
  private func retry() async throws -> String {
    let server = try MockServer(script: [.status(503), .status(503), .ok("third time lucky")])
    let client = HTTPClient {
      $0.baseURL = RequestTarget(server.url)
      $0.retry = .backoff(attempts: 3, initialDelay: .milliseconds(100))
    }

    let response = try await client.get("/flaky")

    try check(response.text == "third time lucky", "got \(response.text)")
    try check(response.attempts.count == 3 && server.requests.count == 3, "\(server.requests.count) attempts")
    return "503, 503, then \(response.status.rawValue) on attempt \(response.attempts.count)"
  }

  /// A timeout reports its phase and its duration.
  private func timeout() async throws -> String {
    let server = try MockServer(.hang)
    let client = HTTPClient { $0.baseURL = RequestTarget(server.url) }

    do {
      _ = try await client.get("/slow", options: .timeout(.milliseconds(200)))
      throw Checklist.Failure("a silent server responded")
    } catch let error as HTTPError {
      try check(error.isTimeout, "another error: \(error)")
      guard let phase = error.phase, let elapsed = error.elapsed else {
        throw Checklist.Failure("the error names no phase or no time: \(error)")
      }
      try check(elapsed > .milliseconds(150) && elapsed < .seconds(2), "it took \(elapsed.text)")
      return "timed out while \(phase.rawValue), after \(elapsed.text)"
    }
  }

  /// A failure explains why the request was not retried, even without `explains`.
  private func why() async throws -> String {
    let server = try MockServer(.status(503))
    let client = HTTPClient {
      $0.baseURL = RequestTarget(server.url)
      $0.retry = .backoff()
    }

    do {
      _ = try await client.post("/orders", body: .json(["item": "tea"]))
      throw Checklist.Failure("a 503 was not an error")
    } catch let error as HTTPError {
      guard error.explanation.entries.first?.code == "retry.refused.notIdempotent" else {
        throw Checklist.Failure("no reason: \(error.explanation)")
      }
      return "a POST was not repeated: it may have reached the server"
    }
  }

  /// A recording is shown as a waterfall.
  private func recording() async throws -> String {
    let server = try MockServer { request in
      request.path == "/a" ? .redirect(to: "/b") : .ok("hello").delayed(by: .milliseconds(30))
    }
    let file = FileManager.default.temporaryDirectory.appending(path: "martlet-\(UUID().uuidString).har")
    defer { try? FileManager.default.removeItem(at: file) }
    let recorder = try HARRecorder(to: file)
    defer { recorder.close() }
    let client = HTTPClient {
      $0.baseURL = RequestTarget(server.url)
      $0.instruments = [recorder]
    }

    try await client.get("/a")
    try await client.get("/c")
    await client.drain()

    let entries = try HARFile(at: file).entries
    try check(entries.map(\.response.status) == [302, 200, 200], "recorded \(entries.map(\.response.status))")
    let lines = Waterfall(entries).lines(width: output.width - 4, output.palette, explains: false)
    return "a waterfall of \(entries.count) exchanges\n"
      + lines.prefix(entries.count).map { "    \($0)" }.joined(separator: "\n")
  }

  /// The monitor reports the requests of a client, even those that were started elsewhere.
  private func activity() async throws -> String {
    let piece = Data(repeating: UInt8(ascii: "."), count: 40_000)
    let drip = MockResponse.steps([
      .message(.init(status: 200, headers: [.init("Content-Length", "40000")])),
      .drip(piece, chunk: 2_000, every: .milliseconds(60)),
    ])
    let server = try MockServer(drip)
    let client = HTTPClient { $0.baseURL = RequestTarget(server.url) }

    for number in 1...4 { client.start(.get("/files/\(number)")) }

    let line = LiveLine(output: output)
    var mostRunning = 0
    var fastest = 0.0
    for await now in client.activity.snapshots {
      line.show("\(now.running.count) running, \(Int(now.bytesPerSecond.received)) bytes per second")
      mostRunning = max(mostRunning, now.running.count)
      fastest = max(fastest, now.bytesPerSecond.received)
      if now.totals.succeeded + now.totals.failed == 4 { break }
    }
    line.clear()

    let totals = client.activity.current.totals
    try check(totals.succeeded == 4 && totals.bytesReceived == 160_000, "\(totals.bytesReceived) bytes")
    try check(mostRunning == 4 && fastest > 0, "at most \(mostRunning) running, \(Int(fastest)) bytes per second")
    return "\(mostRunning) running at once, up to \(Int(fastest)) bytes per second"
  }
}
