import Foundation
import Martlet
import MartletTesting
import Testing

/// The code of the articles in `Martlet.docc`, compiled and run.
///
/// The first test compares the articles with this file line by line, so that neither can change without the other.
@Suite struct SamplesTests {
  struct User: Codable, Equatable, Sendable {
    var id: Int
    var name: String
  }

  struct NewUser: Codable, Sendable { var name: String }

  struct Problem: Decodable { var title: String }

  struct Repo: Codable, Equatable, Sendable {
    var name: String
    var stars: Int
  }

  private static let ada = #"{"id":1,"name":"Ada"}"#

  private static func client(_ transport: StubTransport) -> HTTPClient {
    HTTPClient {
      $0.transport = transport
      $0.baseURL = "http://example.test"
      $0.clock = TestClock()
    }
  }

  private static func client(_ response: StubResponse) -> HTTPClient { client(StubTransport { _ in response }) }

  @Test func `every sample of the articles stands in this file`() throws {
    let own = Self.trimmedLines(try String(contentsOfFile: #filePath, encoding: .utf8)).joined(separator: "\n")
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../Sources/Martlet/Martlet.docc").standardizedFileURL
    let articles = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
      .filter { $0.pathExtension == "md" }

    var count = 0
    for article in articles {
      for sample in Self.samples(of: try String(contentsOf: article, encoding: .utf8)) {
        count += 1
        #expect(own.contains(sample), "\(article.lastPathComponent) has a sample that is not tested")
      }
    }

    #expect(count > 30)
  }

  private static func samples(of article: String) -> [String] {
    article.components(separatedBy: "```swift\n").dropFirst().compactMap {
      $0.components(separatedBy: "```").first.map { trimmedLines($0).joined(separator: "\n") }
    }
  }

  private static func trimmedLines(_ text: String) -> [Substring] {
    text.split(separator: "\n").map { $0.drop { $0 == " " } }
  }

  // MARK: Getting started

  /// Not run: it would use the network.
  func sharedClient() async throws {
    let user = try await HTTPClient.get("https://api.example.com/users/1", as: User.self)
    _ = user
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

  @Test func `says what is different for one request`() async throws {
    let client = Self.client(.text("report"))

    let report = try await client.get("/report", options: .timeout(.seconds(300)).retry(.none).tag("report"))

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

  // MARK: Lifetimes

  @Test func `starts requests of three lifetimes`() async throws {
    let client = Self.client(.text("x"))
    let requests = RequestScope(client: client)
    let text = "swift"

    let news = try await client.get("/news")
    let read = client.start(.post("/news/1872/read"))
    let search = requests.start(.get("/search", query: ["q": text]), replacing: "search")

    #expect(news.text == "x")
    #expect(try await read.value.text == "x")
    #expect(try await search.value.request.url?.query() == "q=swift")
  }

  @Test func `starts and waits later`() async throws {
    let client = Self.client(.text("x"))

    let handle = client.start(.post("/news/1872/read"), options: .retry(.backoff(attempts: 5)))
    let response = try await handle.value

    #expect(response.text == "x")
  }

  @MainActor final class NewsModel {
    var isBusy = false
    var news = ""
    var failure: HTTPError?

    func load(_ client: HTTPClient) {
      client.get(
        "/news", onStart: { self.isBusy = true },
        onSuccess: { self.news = $0.text },
        onError: { self.failure = $0 })
    }
  }

  @MainActor @Test func `is called back on the main actor`() async {
    let model = NewsModel()

    model.load(Self.client(.text("new")))

    await eventually("called back") { model.news == "new" }
    #expect(model.isBusy)
    #expect(model.failure == nil)
  }

  @MainActor final class SearchModel {
    private let requests: RequestScope
    private(set) var results = ""

    init(client: HTTPClient) { requests = RequestScope(client: client) }

    func search(for text: String) {
      requests.start(.get("/search", query: ["q": text]), replacing: "search", for: self) { model, response in
        model.results = response.text
      }
    }
  }

  @MainActor @Test func `passes the owner to a callback`() async {
    let model = SearchModel(client: Self.client(.text("found")))

    model.search(for: "s")
    model.search(for: "sw")

    await eventually("the newest one wins") { model.results == "found" }
  }

  @Test func `ends requests with a function`() async throws {
    let client = Self.client(
      StubTransport { request in
        if request.url?.path() == "/slow" { try await Task.sleep(for: .seconds(60)) }
        return .text("fast")
      })

    let text = try await withRequestScope(client: client) { scope in
      scope.start(.get("/slow"))
      return try await scope.start(.get("/fast")).value.text
    }

    #expect(text == "fast")
    #expect(client.activity.current.totals.cancelled == 1)
  }

  @Test func `drains`() async {
    let client = Self.client(.text("x"))

    await client.drain(timeout: .seconds(10))

    await #expect(throws: HTTPError.self) { try await client.get("/") }
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

  @Test(arguments: [200, 404, 503]) func `tells errors apart`(status: Int) async throws {
    try await greet(Self.client(.json(Self.ada, status: HTTPStatus(status))))
  }

  @Test func `reads the body of an error`() async throws {
    let client = Self.client(.json(#"{"title":"a name is needed"}"#, status: 422))

    do {
      _ = try await client.post("/users", body: .json(NewUser(name: "")))
    } catch let error as HTTPError {
      let problem = error.decoded(as: Problem.self)
      print(problem?.title ?? error.description)
      #expect(problem?.title == "a name is needed")
    }
  }

  @Test func `chooses which statuses are a success`() async throws {
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

  @Test func `repeats a request with a key`() async throws {
    let client = Self.client(StubTransport(failing: 1, with: .connectionLost, then: .text("ordered")))
    let key = "5bd6"

    let order = try await client.post(
      "/orders", headers: ["Idempotency-Key": key], body: .json(["article": 7]), options: .retry(.backoff()))

    #expect(order.text == "ordered")
    #expect(order.attempts.count == 2)
  }

  @Test func `repeats as a closure decides`() async throws {
    let client = Self.client(StubTransport(script: [.status(409), .text("x")]))

    let policy = RetryPolicy.custom(attempts: 3) { attempt, outcome in
      outcome.status == .conflict ? .milliseconds(100 * attempt) : nil
    }
    let response = try await client.get("/", options: .retry(policy))

    #expect(response.attempts.first?.pause == .milliseconds(100))
  }

  @Test func `allows one request more time`() async throws {
    let client = Self.client(.text("export"))

    let export = try await client.get("/export", options: .timeout(.seconds(600)).timeout(idle: .seconds(60)))

    #expect(export.text == "export")
  }

  // MARK: Redirects

  private static let moved = StubTransport(routes: ["GET /old": .redirect(to: "/new"), "GET /new": .text("new")])

  @Test func `follows redirects`() async throws {
    let client = Self.client(Self.moved)

    let response = try await client.get("/old")
    print(response.url, response.redirects.map(\.status))

    #expect(response.url.path() == "/new")
    #expect(response.redirects.map(\.status) == [.found])
  }

  @Test func `delivers redirects`() async throws {
    let client = Self.client(Self.moved)

    let moved = try await client.get("/old", options: .redirects(.none))
    print(moved.status, moved.headers["Location"] ?? "nowhere")

    #expect(moved.status == .found)
  }

  @Test func `changes the rules for redirects`() async throws {
    let client = HTTPClient { $0.redirects = .follow(upTo: 3) }
    let strict = client.derived { $0.redirects = .strictMethods }

    #expect(client.configuration.redirects.maximumHops == 3)
    #expect(strict.configuration.redirects.keepsMethod)
  }

  @Test(arguments: ["/new", "http://other.test/new"]) func `decides on redirects`(location: String) async throws {
    let transport = StubTransport(routes: ["GET /old": .redirect(to: location), "GET /new": .text("new")])

    let sameHost = RedirectPolicy.ask { hop in
      hop.next.url?.host() == hop.request.url?.host() ? .follow : .stop
    }
    let response = try await Self.client(transport).get("/old", options: .redirects(sameHost))

    #expect(response.status == (location == "/new" ? .ok : .found))
  }

  // MARK: Endpoints

  struct GetRepo: Endpoint {
    typealias Output = Repo
    var owner: String
    var name: String
    var target: RequestTarget { "/repos/\(owner)/\(name)" }
  }

  struct ListRepos: PagedEndpoint {
    typealias Output = [Repo]
    var page = 1
    var target: RequestTarget { "/repos" }
    var query: Query { ["page": page] }

    func next(after repos: [Repo], response: HTTPResponse) -> ListRepos? {
      repos.isEmpty ? nil : ListRepos(page: page + 1)
    }
  }

  struct GetArticle: ShopEndpoint {
    typealias Output = User
    var target: RequestTarget { "/articles/1" }
  }

  private static let repos = StubTransport { request in
    .json(#"{"name":"\#(request.url?.lastPathComponent ?? "")","stars":3}"#)
  }

  @Test func `sends an endpoint`() async throws {
    let client = Self.client(Self.repos)

    let repo = try await client.send(GetRepo(owner: "apple", name: "swift"))

    #expect(repo == Repo(name: "swift", stars: 3))
  }

  @Test func `shares header fields and errors between endpoints`() async throws {
    let transport = StubTransport { _ in .json(#"{"code":5}"#, status: 400) }

    let problem = try await #require(throws: ShopProblem.self) { try await Self.client(transport).send(GetArticle()) }

    #expect(problem.code == 5)
    #expect(transport.requests.first?.headers["Accept"] == "application/vnd.shop+json")
  }

  @Test func `sends many endpoints`() async throws {
    let client = Self.client(Self.repos)
    let names = ["swift", "swift-nio", "swift-log"]

    let repos = try await client.all(names.map { GetRepo(owner: "apple", name: $0) }, limit: 4)
    for await (index, result) in client.results(names.map { GetRepo(owner: "apple", name: $0) }) {
      print(names[index], (try? result.get().stars) ?? 0)
    }

    #expect(repos.map(\.name) == names)
    #expect(client.activity.current.totals.succeeded == 6)
  }

  @Test func `reads pages`() async throws {
    let transport = StubTransport(script: [.json(#"[{"name":"a","stars":1}]"#), .json("[]")])
    let client = Self.client(transport)

    for try await repos in client.pages(of: ListRepos()) { print(repos.count) }

    #expect(transport.requests.compactMap { $0.url?.query() } == ["page=1", "page=2"])
  }

  @Test func `ends requests by type`() async throws {
    let client = Self.client(
      StubTransport { _ in
        try await Task.sleep(for: .seconds(60))
        return .text("late")
      })
    let handle = client.start(GetRepo(owner: "apple", name: "swift"))

    if client.activity.isInUse(GetRepo.self) { client.cancelAll(of: GetRepo.self) }

    await #expect(throws: CancellationError.self) { try await handle.value }
  }

  // MARK: Watching activity

  @Test func `watches a client`() async throws {
    let client = Self.client(.text("x"))

    let watcher = Task {
      for await now in client.activity.snapshots {
        print(now.running.count, now.waiting.count, now.bytesPerSecond.received)
      }
    }
    _ = try await client.get("/")
    watcher.cancel()
    await watcher.value

    #expect(client.activity.current.totals.succeeded == 1)
  }

  @MainActor final class Lamp { var isOn: Bool? }

  @MainActor @Test func `shows an indicator`() async {
    let client = Self.client(.text("x"))
    let lamp = Lamp()

    let watcher = Task {
      for await isOn in client.activity.indicator(hideAfter: .milliseconds(250)) { lamp.isOn = isOn }
    }
    await eventually("shown") { lamp.isOn == false }
    watcher.cancel()
    await watcher.value
  }

  @Test func `finds requests by tag`() {
    let client = Self.client(.text("x"))

    let uploads = client.activity.requests(tagged: "upload")
    print(uploads.map { "\($0.method) \($0.redactedURL) \($0.elapsed)" })
    client.cancelAll { $0.tag == "upload" && $0.elapsed > .seconds(30) }

    #expect(uploads.isEmpty)
  }

  @Test func `counts work of others`() async throws {
    let client = Self.client(.text("x"))
    @Sendable func importArchive() async throws -> Int { client.activity.current.adopted.count }

    let size = try await client.activity.adopt("import") { try await importArchive() }

    #expect(size == 1)
  }

  @Test func `follows one request`() async throws {
    let client = Self.client(.text("x"))

    let handle = client.start(.get("/news"))
    for await event in handle.events { print(event) }
    let archive = try await client.get("/archive", options: .onProgress { print($0.fraction ?? 0) })

    #expect(archive.text == "x")
    #expect(!handle.isAlive)
  }

  // MARK: Middleware

  struct RequestNumbers: Middleware {
    func intercept(
      _ request: HTTPRequest, context: RequestContext,
      next: @Sendable (HTTPRequest) async throws -> StreamedResponse
    ) async throws -> StreamedResponse {
      var request = request
      request.headers["X-Request-ID"] = "\(context.id)-\(context.hop)-\(context.attempt)"
      let response = try await next(request)
      print(request.method, request.target, response.status)
      return response
    }
  }

  @Test func `numbers requests`() async throws {
    let transport = StubTransport { _ in .text("x") }

    let client = HTTPClient { $0.attemptMiddleware = [RequestNumbers()] }
    await client.update { $0.transport = transport }
    _ = try await client.get("http://example.test/")

    #expect(transport.requests.first?.headers["X-Request-ID"]?.hasSuffix("-0-1") == true)
  }

  enum Tenant: RequestOptionKey { typealias Value = String }

  @Test func `carries a value to middleware`() async throws {
    let client = Self.client(StubTransport(withContext: { _, context in .text(context.options[Tenant.self] ?? "") }))

    var options = RequestOptions()
    options[Tenant.self] = "north"
    let news = try await client.get("/news", options: options)

    #expect(news.text == "north")
  }

  // MARK: Testing

  @Test func `answers by method and path`() async throws {
    let transport = StubTransport(routes: ["GET /users/1": .json(#"{"id":1,"name":"Ada"}"#)])
    let client = HTTPClient {
      $0.transport = transport
      $0.baseURL = "http://example.test"
    }

    let user = try await client.get("/users/1", as: User.self)

    #expect(user.name == "Ada")
    #expect(transport.requests.map(\.method) == [.get])
  }

  @Test func `answers from a closure`() async throws {
    let client = HTTPClient { $0.transport = .stub { request in .text(request.method.rawValue) } }

    #expect(try await client.delete("http://example.test/").text == "DELETE")
  }

  @Test func `does not wait`() async throws {
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

  /// Not run here: these tests open no socket.
  func answersOnASocket(_ client: HTTPClient) async throws {
    let server = try MockServer(script: [.status(503), .ok("hello")])
    let response = try await client.get(RequestTarget(server.url("/greeting")), options: .retry(.backoff()))
    #expect(response.text == "hello")
    #expect(server.requests.map(\.target) == ["/greeting", "/greeting"])
  }
}

protocol ShopEndpoint: Endpoint {}

extension ShopEndpoint {
  var headers: HTTPHeaders { ["Accept": "application/vnd.shop+json"] }

  func recover(from error: HTTPError) throws -> Output {
    if let problem = error.decoded(as: ShopProblem.self) { throw problem }
    throw error
  }
}

struct ShopProblem: Error, Decodable { var code: Int }
