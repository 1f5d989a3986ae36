import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

/// Samples from the articles of all modules are compiled and run; those from the README and doc comments are compiled.
///
/// The first test compares all of them with the files in this folder, so neither can change without the other. These
/// files are built like anyone's package, without the settings of this one.
@Suite(.hangLimit) struct SamplesTests {
  nonisolated struct User: Codable, Equatable, Sendable {
    var id: Int
    var name: String
  }

  nonisolated struct NewUser: Codable, Sendable { var name: String }

  struct Problem: Decodable { var title: String }

  nonisolated static let ada = #"{"id":1,"name":"Ada"}"#

  static func client(_ transport: StubTransport) -> HTTPClient {
    HTTPClient {
      $0.transport = transport
      $0.baseURL = "http://example.test"
      $0.clock = TestClock()
      $0.now = { Date(timeIntervalSince1970: 1_700_000_000) }
    }
  }

  static func client(_ response: StubResponse) -> HTTPClient { client(StubTransport { _ in response }) }

  @Test func `every documented sample occurs in these files`() throws {
    let folder = URL(filePath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
    let root = folder.appending(path: "../..")
    let tests = try Self.files(of: folder, "swift").map { Self.squeezed($0.text) }
    let sources = root.appending(path: "Sources")
    let articles = try Self.files(of: sources, "md").map { (name: $0.name, samples: Self.samples(of: $0.text)) }
    // These samples are split at blank lines, because their declarations are elsewhere in the tests.
    let folders = ["", "Docs", "Docs/Decisions", "Examples", "Examples/Benchmarks", "Examples/CacheSuite"]
    let pages = try folders.flatMap { try Self.files(of: root.appending(path: $0), "md") }
    let others = try (pages + Self.files(of: sources, "swift")).map {
      (name: $0.name, samples: Self.samples(of: Self.comments(in: $0)).flatMap { $0.components(separatedBy: "\n\n") })
    }

    var count = 0
    for (name, samples) in articles + others {
      for sample in samples where !sample.hasPrefix("import ") {
        count += 1
        let isTested = tests.contains { $0.contains(Self.squeezed(sample)) }
        #expect(isTested, "\(name) has a sample that is not tested: \(sample)")
      }
    }

    #expect(count > 160)
  }

  @Test func `no sample needs internal API`() throws {
    let folder = URL(filePath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()

    // The pattern is split in two, because this file is searched as well.
    for (name, text) in try Self.files(of: folder, "swift") {
      #expect(!text.contains("@testable" + " import"), "\(name)")
    }
  }

  private static func samples(of text: String) -> [String] {
    text.components(separatedBy: "```swift\n").dropFirst().compactMap { $0.components(separatedBy: "```").first }
  }

  /// Returns the doc comments of a source file, or the whole of another text.
  private static func comments(in file: (name: String, text: String)) -> String {
    guard file.name.hasSuffix(".swift") else { return file.text }
    guard file.text.contains("```") else { return "" }
    return file.text.split(separator: "\n").compactMap { line in
      let line = line.drop { $0 == " " }
      return line.hasPrefix("///") ? String(line.dropFirst(3)) : nil
    }.joined(separator: "\n")
  }

  /// Returns the text without whitespace.
  private static func squeezed(_ text: String) -> String {
    String(decoding: text.utf8.filter { $0 > UInt8(ascii: " ") }, as: UTF8.self)
  }

  private static func files(of folder: URL, _ kind: String) throws -> [(name: String, text: String)] {
    let isDeep = folder.lastPathComponent == "Sources"
    let files = FileManager.default.enumerator(
      at: folder.standardizedFileURL, includingPropertiesForKeys: nil,
      options: isDeep ? [] : .skipsSubdirectoryDescendants)
    return try (files?.allObjects ?? []).compactMap { $0 as? URL }.filter { $0.pathExtension == kind }
      .map { ($0.lastPathComponent, try String(contentsOf: $0, encoding: .utf8)) }
  }

  // MARK: Getting started

  /// Compiled but not run, because it would use the network.
  func sharedClient() async throws {
    let user = try await HTTPClient.shared.get("https://api.example.com/users/1", as: User.self)
    _ = user
  }

  @Test func `uses variables`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = Self.client(transport)
    let (folder, team, text) = (try TemporaryFolder(), "blue", "http://example.test/list")
    let url = try #require(URL(string: text))

    func use(to folder: URL) async throws {
      let headers = ["Accept": "application/json", "X-Team": team]
      let page = try await client.get(url, query: ["page": 2], headers: headers)
      let file = try await client.download(url, to: folder, options: .timeout(.seconds(60)))
      _ = (page, file)
    }
    try await use(to: folder.url)

    #expect(transport.requests.compactMap { $0.url?.absoluteString } == [text + "?page=2", text])
    #expect(transport.requests.first?.headers["X-Team"] == "blue")
  }

  @Test func `makes a client and uses its verbs`() async throws {
    let transport = StubTransport { request in
      request.url?.query() == nil ? .json(Self.ada) : .json("[\(Self.ada)]")
    }

    let client = HTTPClient {
      $0.baseURL = "https://api.example.com/v1"
      $0.headers["Accept"] = "application/json"
      $0.timeout.total = .seconds(20)
    }
    await client.update { $0.transport = transport }
    let users = try await client.get("/users", query: ["role": "admin", "tag": ["a", "b"]], as: [User].self)
    let created = try await client.post("/users", body: .json(NewUser(name: "Ada")), as: User.self)
    let replaced = try await client.put("/users/\(created.id)", body: .json(created))

    #expect(users == [created])
    #expect(replaced.status == .ok)
    #expect(client.configuration.timeout.total == .seconds(20))
    #expect(
      transport.requests.compactMap { $0.url?.absoluteString } == [
        "https://api.example.com/v1/users?role=admin&tag=a&tag=b", "https://api.example.com/v1/users",
        "https://api.example.com/v1/users/1",
      ])
  }

  @Test func `reads a response`() async throws {
    let client = Self.client(.json(Self.ada))

    let response = try await client.get("/users/1")
    print(response.status, response.headers["ETag"] ?? "no validator", response.timing.total)
    let user = try response.json(User.self)

    #expect(user.name == "Ada")
  }

  @Test func `reads a body as it arrives`() async throws {
    let client = Self.client(.text("0123456789"))

    let size = try await client.stream(.get("/export")) { response in
      var size = 0
      for try await piece in response.body { size += piece.count }
      return size
    }

    #expect(size == 10)
  }

  @Test func `sets options for one request`() async throws {
    let client = Self.client(.text("report"))

    let report = try await client.get("/report", options: .timeout(.seconds(300)).retry(.off).tag("report"))

    #expect(report.text == "report")
  }

  @Test func `changes a client`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = Self.client(transport)

    await client.update { $0.headers["Accept-Language"] = "de" }
    let admin = client.derived { $0.headers["X-Role"] = "admin" }
    _ = try await admin.get("/")

    #expect(transport.requests.first?.headers["Accept-Language"] == "de")
    #expect(transport.requests.first?.headers["X-Role"] == "admin")
  }

  // MARK: Errors and statuses

  private func greet(_ client: HTTPClient) async throws {
    do {
      let user = try await client.get("/users/7", as: User.self)
      print("hello, \(user.name)")
    } catch let error as HTTPError where error.status == .notFound {
      print("no such user")
    } catch let error as HTTPError where error.isTransient {
      print("try again later: \(error)")
    }
  }

  @Test(arguments: [200, 404, 503]) func `distinguishes errors`(status: Int) async throws {
    try await greet(Self.client(.json(Self.ada, status: HTTPStatus(status))))
  }

  @Test func `reads the body of an error`() async throws {
    let client = Self.client(.json(#"{"title":"a name is needed"}"#, status: 422))

    do {
      _ = try await client.post("/users", body: .json(NewUser(name: "")))
    } catch let error as HTTPError {
      let problem = error.decoded(as: Problem.self)
      print(problem?.title ?? error.description)
    }
    let error = try await #require(throws: HTTPError.self) { try await client.get("/users") }

    #expect(error.decoded(as: Problem.self)?.title == "a name is needed")
  }

  @Test func `chooses which statuses are accepted`() async throws {
    let client = Self.client(.text("x"))

    let any = try await client.get("/users/7", options: .accepts(.any))
    let narrow = try await client.get("/users", options: .accepts(.statuses(200..<300)))
    let judged = try await client.get("/users", options: .accepts(.when { !$0.body.isEmpty }))

    #expect([any, narrow, judged].map(\.status) == [.ok, .ok, .ok])
  }

  // MARK: Retries and timeouts

  @Test func `sets policies for a client`() {
    let client = HTTPClient {
      $0.retry = .backoff(attempts: 4)
      $0.timeout = TimeoutPolicy(connect: .seconds(5), idle: .seconds(15), total: .seconds(60))
    }

    #expect(client.configuration.retry.maximumAttempts == 4)
    #expect(client.configuration.timeout.idle == .seconds(15))
  }

  @Test func `retries a request with an idempotency key`() async throws {
    let client = Self.client(StubTransport(failing: 1, with: .connectionLost, then: .text("ordered")))
    let key = "5bd6"

    let order = try await client.post(
      "/orders", headers: ["Idempotency-Key": key], body: .json(["article": 7]), options: .retry(.backoff()))

    #expect(order.text == "ordered")
    #expect(order.attempts.count == 2)
  }

  @Test func `retries a request that is declared idempotent`() async throws {
    let client = Self.client(StubTransport(script: [.status(429, headers: ["Retry-After": "1"]), .text("hello")]))
    let text = "hi"

    let answer = try await client.post(
      "/messages", body: .json(["text": text]), options: .retry(.backoff()).isIdempotent())

    #expect(answer.text == "hello")
    #expect(answer.attempts.count == 2)
  }

  @Test func `retries as a closure decides`() async throws {
    let client = Self.client(StubTransport(script: [.status(409), .text("x")]))

    let policy = RetryPolicy.custom(attempts: 3) { attempt, outcome in
      outcome.status == .conflict ? .milliseconds(100 * attempt) : nil
    }
    let response = try await client.get("/", options: .retry(policy))

    #expect(response.attempts.first?.delay == .milliseconds(100))
  }

  @Test func `allows one request more time`() async throws {
    let client = Self.client(.text("export"))

    let export = try await client.get("/export", options: .timeout(.seconds(600)).timeout(idle: .seconds(60)))

    #expect(export.text == "export")
  }

  // MARK: Redirects

  private static var moved: StubTransport {
    StubTransport(routes: ["GET /old": .redirect(to: "/new"), "GET /new": .text("new")])
  }

  @Test func `follows redirects`() async throws {
    let client = Self.client(Self.moved)

    let response = try await client.get("/old")
    print(response.url, response.redirects.map(\.status))

    #expect(response.url.path() == "/new")
    #expect(response.redirects.map(\.status) == [.found])
  }

  @Test func `returns a redirect instead of following it`() async throws {
    let client = Self.client(Self.moved)

    let moved = try await client.get("/old", options: .redirects(.off))
    print(moved.status, moved.headers["Location"] ?? "nowhere")

    #expect(moved.status == .found)
  }

  @Test func `changes the redirect policy`() async throws {
    let client = HTTPClient { $0.redirects = .follow(upTo: 3) }
    let strict = client.derived { $0.redirects = .strictMethods }

    #expect(client.configuration.redirects.maximumHops == 3)
    #expect(strict.configuration.redirects.keepsMethod)
  }

  @Test(arguments: ["/new", "http://other.test/new"]) func `decides on redirects with a closure`(location: String)
    async throws
  {
    let transport = StubTransport(routes: ["GET /old": .redirect(to: location), "GET /new": .text("new")])

    let sameHost = RedirectPolicy.ask { hop in
      hop.next.url?.host() == hop.request.url?.host() ? .follow : .stop
    }
    let response = try await Self.client(transport).get("/old", options: .redirects(sameHost))

    #expect(response.status == (location == "/new" ? .ok : .found))
  }

  // MARK: Testing

  @Test func `responds by method and path`() async throws {
    let transport = StubTransport(routes: ["GET /users/1": .json(#"{"id":1,"name":"Ada"}"#)])
    let client = HTTPClient {
      $0.transport = transport
      $0.baseURL = "http://example.test"
    }

    let user = try await client.get("/users/1", as: User.self)

    #expect(user.name == "Ada")
    #expect(transport.requests.map(\.method) == [.get])
  }

  @Test func `responds from a closure`() async throws {
    let client = HTTPClient { $0.transport = .stub { request in .text(request.method.rawValue) } }

    #expect(try await client.delete("http://example.test/").text == "DELETE")
  }

  @Test func `retries on a test clock without waiting`() async throws {
    let clock = TestClock()
    let client = HTTPClient {
      $0.transport = StubTransport(failing: 2, with: .connectionLost, then: .text("hello"))
      $0.clock = clock
      $0.random = { 1 }
      $0.retry = .backoff(attempts: 3)
    }

    let response = try await client.get("http://example.test/")

    #expect(response.text == "hello")
    #expect(clock.sleeps == [.milliseconds(200), .milliseconds(400)])
  }

  /// Compiled but not run, because these tests open no socket.
  func answersOnASocket(_ client: HTTPClient) async throws {
    let server = try MockServer(script: [.status(503), .ok("hello")])
    let response = try await client.get(RequestTarget(server.url("/greeting")), options: .retry(.backoff()))
    #expect(response.text == "hello")
    #expect(server.requests.map(\.target) == ["/greeting", "/greeting"])
  }
}
