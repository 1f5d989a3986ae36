import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

/// Samples from the articles on many requests and related topics.
extension SamplesTests {
  // MARK: Lifetimes

  @Test func `starts requests with three lifetimes`() async throws {
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

  @Test func `starts a request and awaits it later`() async throws {
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

  @MainActor @Test func `calls back on the main actor`() async {
    let client = Self.client(.text("new"))
    let model = NewsModel()

    model.load(client)

    await client.waitUntilEmpty()
    #expect(model.news == "new")
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
    let client = Self.client(.text("found"))
    let model = SearchModel(client: client)

    model.search(for: "s")
    model.search(for: "sw")

    await client.waitUntilEmpty()
    #expect(model.results == "found")
  }

  @Test func `scopes requests to a function`() async throws {
    let client = Self.client(
      StubTransport { request in
        if request.url?.path() == "/slow" { try await untilCancelled() }
        return .text("fast")
      })

    let text = try await withRequestScope(client: client) { scope in
      scope.start(.get("/slow"))
      return try await scope.start(.get("/fast")).value.text
    }

    #expect(text == "fast")
    #expect(client.activity.current.totals.cancelled == 1)
  }

  @Test func `drains a client`() async {
    let client = Self.client(.text("x"))

    await client.drain(timeout: .seconds(10))

    await #expect(throws: HTTPError.self) { try await client.get("/") }
  }

  // MARK: Endpoints

  private static var repos: StubTransport {
    StubTransport { request in .json(#"{"name":"\#(request.url?.lastPathComponent ?? "")","stars":3}"#) }
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

    let repos = try await client.sendAll(names.map { GetRepo(owner: "apple", name: $0) }, limit: 4)
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

  @Test func `cancels requests by type`() async throws {
    let client = Self.client(StubTransport { _ in try await untilCancelled() })
    let handle = client.start(GetRepo(owner: "apple", name: "swift"))

    if client.activity.isInUse(GetRepo.self) { client.cancelAll(of: GetRepo.self) }

    await #expect(throws: CancellationError.self) { try await handle.value }
  }

  // MARK: Watching activity

  @Test func `observes the activity of a client`() async throws {
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

  @MainActor final class Lamp {
    let shown = Shared<Bool?>(nil)
    var isOn: Bool {
      get { shown.value == true }
      set { shown.withLock { $0 = newValue } }
    }
  }

  @MainActor @Test func `shows an activity indicator`() async {
    let client = Self.client(.text("x"))
    let lamp = Lamp()

    let watcher = Task {
      for await isOn in client.activity.indicator(hideAfter: .milliseconds(250)) { lamp.isOn = isOn }
    }
    await lamp.shown.wait { $0 == false }
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

  @Test func `tracks other work in the activity of a client`() async throws {
    let client = Self.client(.text("x"))
    @Sendable func importArchive() async throws -> Int { client.activity.current.trackedWork.count }

    let size = try await client.activity.track("import") { try await importArchive() }

    #expect(size == 1)
  }

  @Test func `observes one request`() async throws {
    let client = Self.client(.text("x"))

    let handle = client.start(.get("/news"))
    for await event in handle.events { print(event) }
    func preload(_ links: [String]) {}
    for await event in handle.events {
      if case .informational(let response) = event, response.status == .earlyHints {
        preload(response.headers[all: "Link"])
      }
    }
    let archive = try await client.get("/archive", options: .onProgress { print($0.fraction ?? 0) })
    let file = URL(filePath: #filePath)
    let upload = client.start(.put("/archive", body: .file(file)))
    for await now in upload.progress {
      print(now.sent, now.bytesPerSecond.sent, now.timeLeft ?? .zero)
    }

    #expect(archive.text == "x")
    #expect(!upload.isAlive)
    #expect(!handle.isAlive)
  }

  // MARK: Middleware

  struct AttemptNumbers: Middleware {
    func intercept(
      _ request: HTTPRequest, context: RequestContext,
      next: MiddlewareNext
    ) async throws -> StreamedResponse {
      var request = request
      request.headers["X-Attempt"] = "\(context.id)-\(context.hop)-\(context.attempt)"
      let response = try await next(request)
      print(request.method, request.target, response.status)
      return response
    }
  }

  @Test func `numbers attempts`() async throws {
    let transport = StubTransport { _ in .text("x") }

    let client = HTTPClient { $0.exchangeMiddleware = [AttemptNumbers()] }
    await client.update { $0.transport = transport }
    _ = try await client.get("http://example.test/")

    #expect(transport.requests.first?.headers["X-Attempt"]?.hasSuffix("-0-1") == true)
  }

  enum Tenant: RequestOptions.Key { typealias Value = String }

  @Test func `passes a value to middleware`() async throws {
    let client = Self.client(StubTransport(withContext: { _, context in .text(context.options[Tenant.self] ?? "") }))

    var options = RequestOptions()
    options[Tenant.self] = "north"
    let news = try await client.get("/news", options: options)

    #expect(news.text == "north")
  }
}

nonisolated protocol ShopEndpoint: Endpoint {}

nonisolated extension ShopEndpoint {
  var headers: HTTPHeaders { ["Accept": "application/vnd.shop+json"] }

  func recover(from error: HTTPError) throws -> Output {
    if let problem = error.decoded(as: ShopProblem.self) { throw problem }
    throw error
  }
}

struct ShopProblem: Error, Decodable { var code: Int }

private nonisolated struct Repo: Codable, Equatable, Sendable {
  var name: String
  var stars: Int
}

private struct GetRepo: Endpoint {
  typealias Output = Repo
  var owner: String
  var name: String
  var target: RequestTarget { "/repos/\(owner)/\(name)" }
}

private struct ListRepos: PagedEndpoint {
  typealias Output = [Repo]
  var page = 1
  var target: RequestTarget { "/repos" }
  var query: Query { ["page": page] }

  func next(after repos: [Repo], response: HTTPResponse) -> ListRepos? {
    repos.isEmpty ? nil : ListRepos(page: page + 1)
  }
}

private nonisolated struct GetArticle: ShopEndpoint {
  typealias Output = SamplesTests.User
  var target: RequestTarget { "/articles/1" }
}
