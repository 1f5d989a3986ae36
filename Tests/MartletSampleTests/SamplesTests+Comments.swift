import Foundation
import Martlet
import MartletOutbox
import MartletSigV4
import MartletTesting
import Testing

/// Samples from doc comments and the README.
///
/// They are compiled but not run, because most would use the network.
private enum CommentSamples {
  struct User: Decodable, Sendable { var name: String }

  nonisolated struct Event: Codable, Sendable { var name: String }

  nonisolated struct NewIssue: Codable, Sendable { var title: String }

  struct Issue: Decodable, Sendable { var id: Int }

  struct MyTransport: Transport {
    func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
      throw HTTPError(.cannotConnect, "not run")
    }
  }

  actor Database {
    func get(_ key: String) throws -> Data? { nil }
    func set(_ key: String, _ data: Data) throws {}
    func delete(_ key: String) throws {}
    func clear() throws {}
  }

  // MARK: Clients

  static func diagnose(_ client: HTTPClient) {
    print(client.diagnostics)
  }

  static func sign(_ keys: Keys, key: String) async throws {
    let signer = SigV4(.origin("https://bucket.s3.eu-central-1.amazonaws.com"), region: "eu-central-1", service: "s3") {
      try await keys.current()
    }
    let client = HTTPClient { $0.exchangeMiddleware = [signer] }
    let link = try await signer.presigned(.get("https://bucket.s3.eu-central-1.amazonaws.com/\(path: key)"))
    _ = (client, link)
  }

  actor Keys {
    func current() async throws -> SigV4.Credentials { SigV4.Credentials(accessKeyID: "a", secretAccessKey: "b") }
  }

  static func search(_ client: HTTPClient, _ search: [String: String]) async throws {
    try await client.get("/search", query: try Query(encoding: search))
  }

  // MARK: README

  @MainActor final class Screen {
    struct Repo: Decodable, Sendable { var id: Int; var name: String }

    let requests: RequestScope
    var isBusy = false
    var failure: HTTPError?

    init(_ client: HTTPClient) { requests = RequestScope(client: client) }

    func show(_ text: String) {}
    func show(_ repos: [Repo]) {}

    func readme(owner: String, name: String, text: String) async throws {
      // No set-up.
      let repo = try await HTTPClient.shared.get("https://api.example.com/repos/\(owner)/\(name)").json(Repo.self)

      // A client with its own policies.
      let client = HTTPClient {
        $0.baseURL = "https://api.example.com/v1"
        $0.retry = .backoff(attempts: 3)
        $0.timeout.total = .seconds(20)
      }
      let issue = try await client.post("/issues", body: .json(NewIssue(title: "Hi")), as: Issue.self)

      // Fire and forget: it lives until it succeeds, fails or is cancelled.
      client.start(.post("/news/1872/read"))

      // Closures run on the caller's actor and need not be Sendable.
      client.get(
        "/repos", as: [Repo].self, onStart: { self.isBusy = true },
        onSuccess: { self.show($0) }, onError: { self.failure = $0 })

      // Requests that end with a screen: the scope is a property of the view model.
      requests.start(.get("/search", query: ["q": text]), replacing: "search", for: self) { model, response in
        model.show(response.text)
      }
      _ = (repo, issue)
    }
  }

  static func readme(pieces: AsyncStream<Data>, size: Int64) async throws {
    let client = HTTPClient {
      $0.transport = .curl
      $0.tls = .customRoots(pem: URL(filePath: "/etc/our/ca.pem"))
      $0.proxy = .environment
    }
    try await client.put("https://files.example/big", body: .stream(pieces, length: size))
  }

  // MARK: MartletTesting

  static func stub() {
    let transport = StubTransport { request in
      request.url?.path() == "/user" ? .json(#"{"id":1}"#) : .status(404)
    }
    let client = HTTPClient { $0.transport = transport }
    _ = client
  }

  static func recorder(_ client: HTTPClient) async {
    let events = EventRecorder<String>()
    client.get("/news", onSuccess: { events.record($0.text) })
    #expect(await events.wait(for: 1))
  }

  static func server(_ client: HTTPClient) async throws {
    let server = try MockServer(script: [.status(503), .ok("hello")])
    let response = try await client.get(RequestTarget(server.url("/greeting")))
    #expect(server.requests.map(\.target) == ["/greeting", "/greeting"])
    _ = response
  }

  static func steps() {
    let slow = MockResponse.steps([
      .text("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"), .delay(.seconds(1)), .reset,
    ])
    _ = slow
  }

  // MARK: Client

  static func client(id: Int) async throws {
    let client = HTTPClient { $0.baseURL = "https://api.example.com/v1" }
    let user = try await client.get("/users/\(id)", as: User.self)
    _ = user
  }

  static func trailers(_ client: HTTPClient, file: FileHandle) async throws {
    let digest = try await client.stream(.get("/export")) { response in
      for try await piece in response.body { try file.write(contentsOf: piece) }
      return response.trailers["Content-Digest"]
    }
    _ = digest
  }

  static func options(_ client: HTTPClient) async throws {
    try await client.get("/slow", options: .timeout(.seconds(300)).retry(.off))
  }

  @MainActor final class Model {
    let requests = RequestScope()

    func show(_ response: HTTPResponse) {}

    func search(_ text: String) {
      requests.start(.get("/search", query: ["q": text]), replacing: "search", for: self) { model, response in
        model.show(response)
      }
    }
  }

  static func authenticators(
    secret: String, token: Credential, renew: @escaping @Sendable (Credential?) async throws -> Credential
  ) {
    _ = HTTPClient {
      $0.authenticators[.baseURL] = .basic(user: "ada", password: secret)
      $0.authenticators[.host("*.example.com")] = .oauth2(token) { old in try await renew(old) }
    }
  }

  static func proxy() {
    let client = HTTPClient { $0.proxy = .proxy("http://proxy.example:3128", except: ["localhost", ".example.com"]) }
    _ = client
  }

  static func trust(secret: String) {
    let client = HTTPClient {
      $0.tls = .customRoots(pem: URL(filePath: "/etc/acme/roots.pem"))
      $0.tls.pins = ["sha256//YhKJKSzoTt2b5FP18fvpHo7fJYqQCjAa3HWY3tvRMwE="]
      $0.tls.clientCertificate = .pkcs12(URL(filePath: "/etc/acme/me.p12"), password: secret)
    }
    _ = client
  }

  static func logging() {
    let client = HTTPClient { $0.middleware = [LoggingMiddleware(.headers)] }
    _ = client
  }

  // MARK: Requests

  static func query(text: String) {
    let query: Query = ["q": text, "tag": ["a", "b"], "page": nil]  // q=…&tag=a&tag=b
    _ = query
  }

  static func targets(id: Int, text: String, host: String, port: Int, name: String, encodedQuery: String) {
    let targets: [RequestTarget] = [
      "/users/\(id)/repos?q=\(text)",  // nothing in `id` or `text` can leave its segment or its value
      "https://\(host):\(port)/status",  // must be a plain host name, or an address, and a number
      "/files/\(path: name)",  // slashes in `name` are kept
      "/search?\(raw: encodedQuery)",  // as it is
    ]
    _ = targets
  }

  static func bases(baseURL: URL, baseText: String) {
    let users: [RequestTarget] = [
      "\(baseURL)/users",  // a URL
      "\(raw: baseText)/users",  // a String that is trusted
      RequestTarget(text: "\(baseText)/users"),  // a String as a whole: nothing is escaped
    ]
    _ = users
  }

  static func variables(_ client: HTTPClient, _ url: URL, _ headers: [String: String], _ folder: URL) async throws {
    do {
      let response = try await client.get(url)
      _ = response
    }
    let response = try await client.get(url, headers: headers)
    let file = try await client.download(url, to: folder, options: .timeout(.seconds(60)).retry(.off))
    _ = (response, file)
  }

  static func streams(_ form: inout MultipartForm, _ chunks: AsyncStream<Data>) {
    form.add(.stream(chunks, contentType: "video/mp4"), for: "clip", filename: "clip.mp4")
    form.add(.standardInput(), for: "log", filename: "log.txt")
  }

  static func form(photo: URL) {
    let body = HTTPBody.multipart {
      $0.add("Ben", for: "first_name")
      $0.add(file: photo, for: "photo")
    }
    _ = body
  }

  // MARK: Reading and keeping

  static func events(_ client: HTTPClient) async throws {
    for try await event in client.serverSentEvents("/prices") { print(event.type, event.data) }
  }

  static func interrupts(_ client: HTTPClient) {
    signal(SIGINT, SIG_IGN)
    let interrupts = DispatchSource.makeSignalSource(signal: SIGINT)
    interrupts.setEventHandler { client.cancelAll() }
    interrupts.resume()
  }

  static func coders() {
    let client = HTTPClient {
      $0.encoder.keyEncodingStrategy = .convertToSnakeCase
      $0.encoder.dateEncodingStrategy = .iso8601
      $0.decoder.keyDecodingStrategy = .convertFromSnakeCase
      $0.decoder.dateDecodingStrategy = .iso8601
    }
    _ = client
  }

  static func limits() async throws {
    let client = HTTPClient { $0.timeout.idle = .seconds(60) }
    let report = try await client.get("/report", options: .timeout(.seconds(300)))
    _ = report
  }

  static func openStream(_ client: HTTPClient, _ file: FileHandle) async throws {
    let response = try await client.stream("/export")
    for try await piece in response.body { try file.write(contentsOf: piece) }
  }

  static func downloads(_ client: HTTPClient, _ folder: URL, _ file: URL) async throws {
    let report = try await client.download("/reports/2026.pdf", to: folder) { now in print(now.fraction ?? 0) }
    try await client.download("/disk.img", to: file, options: .segments(4).retry(.backoff(attempts: 5)))
    _ = report
  }

  static func activity(_ client: HTTPClient) async {
    for await now in client.activity.snapshots { print(now.running.count, now.bytesPerSecond.received) }
  }

  static func queue(_ client: HTTPClient, _ pages: [String]) async {
    let queue = RequestQueue(client: client, limits: .concurrent(4, perHost: 2))
    for url in pages { queue.add(url) }
    print(await queue.finish().succeeded)
  }

  static func cache(_ folder: URL) async throws {
    let client = HTTPClient { $0.cache = .disk(folder, bytes: 500_000_000) }
    try await client.cache.remove("https://api.example.com/news")
  }

  static func outbox(_ client: HTTPClient, _ folder: URL, _ event: Event) async throws {
    let outbox = try await client.outbox(at: folder)
    try await outbox.submit(.post("/events", body: .json(event)), key: "user-7")
  }
}

private let database = CommentSamples.Database()

private func store() {
  struct Shelf: ResponseCache.Store {
    func data(for key: String) async throws -> Data? { try await database.get(key) }
    func store(_ data: Data, for key: String) async throws { try await database.set(key, data) }
    func remove(_ key: String) async throws { try await database.delete(key) }
    func removeAll() async throws { try await database.clear() }
  }
  let client = HTTPClient { $0.cache = .store(Shelf()) }
  _ = client
}

@Suite(.disabled("compiled only: the transport does not conform"), .hangLimit) private struct ConformanceSample {
  typealias MyTransport = CommentSamples.MyTransport

  @Test(arguments: TransportConformance.cases)
  func `conforms`(_ conformance: TransportConformance.Case) async throws {
    try await conformance.run { MyTransport() }
  }
}
