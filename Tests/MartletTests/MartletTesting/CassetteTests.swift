import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet
@testable import MartletHAR

/// Records exchanges and replays them.
@Suite(.hangLimit) struct CassetteTests {
  let folder: TemporaryFolder
  var file: URL { folder.url.appending(path: "c/x.har") }

  init() throws { folder = try TemporaryFolder() }

  static let settings: ClientSetting = [.baseURL("http://example.test"), .cache(.off), .retry(.off)]

  func recording(
    _ mode: Cassette.Mode = .recordMissing, matching: Cassette.Matching = .standard,
    _ answer: @escaping @Sendable (HTTPRequest) async throws -> StubResponse
  ) -> (Cassette, StubTransport) {
    let stub = StubTransport(answer)
    return (Cassette(file, mode: mode, matching: matching, recording: stub), stub)
  }

  func replaying(
    matching: Cassette.Matching = .standard, pacing: Cassette.Pacing = .immediate
  ) -> Cassette {
    Cassette(file, mode: .replay, matching: matching, pacing: pacing)
  }

  // MARK: Modes

  @Test func `replays a recording hop by hop and in order`() async throws {
    let (cassette, stub) = recording { request in
      request.url?.path() == "/a" ? .redirect(to: "/b") : .json("[\(request.url?.path() ?? "")]", headers: ["X-Y": "z"])
    }
    let live = HTTPClient(cassette, Self.settings)
    let first = try await live.get("/a")
    let posted = try await live.post(
      "/p",
      body: .stream(
        AsyncStream {
          $0.yield(Data("abc".utf8)); $0.finish()
        }))
    #expect(stub.requests.count == 3 && cassette.entryCount == 3)

    let tape = replaying()
    let client = HTTPClient(tape, Self.settings)
    #expect(tape.entryCount == 0)
    let again = try await client.get("/a")
    let repeated = try await client.post("/p", body: .text("abc", contentType: "application/octet-stream"))

    #expect(again.body == first.body && again.headers == first.headers && again.redirects.count == 1)
    #expect(repeated.body == posted.body && tape.unused.isEmpty && tape.entryCount == 3)
    let transcript = try HARFile(tape.transcript, name: "t")
    #expect(transcript.entries.map(\.response.status) == [302, 200, 200])
  }

  @Test func `repeated requests get the recorded responses in order, and then an error`() async throws {
    let number = Shared(0)
    let (cassette, _) = recording { _ in .text("\(number.withLock { $0 += 1; return $0 })") }
    let live = HTTPClient(cassette, Self.settings)
    for _ in 0..<2 { try await live.get("/a") }

    let tape = replaying()
    let client = HTTPClient(tape, Self.settings)
    #expect(try await client.get("/a").text == "1")
    #expect(tape.unused == ["GET http://example.test/a"])
    #expect(try await client.get("/a").text == "2")
    let error = try await #require(throws: HTTPError.self) { try await client.get("/a") }

    #expect(error.kind == .unsupported)
    #expect(
      error.message
        == "cassette 'x.har' has no response to GET http://example.test/a: all 2 recorded responses were used; run the "
        + "test with MARTLET_CASSETTES=missing to record it")
  }

  @Test func `recordMissing sends only missing requests, and recordAll sends all`() async throws {
    try await HTTPClient(recording { _ in .text("old") }.0, Self.settings).get("/a")

    let (missing, second) = recording { _ in .text("new") }
    let client1 = HTTPClient(missing, Self.settings)
    #expect(try await client1.get("/a").text == "old")
    #expect(try await client1.get("/b").text == "new")
    #expect(second.requests.count == 1 && missing.entryCount == 2)

    let (anew, third) = recording(.recordAll) { _ in .text("newest") }
    let client2 = HTTPClient(anew, Self.settings)
    #expect(try await client2.get("/a").text == "newest")
    #expect(third.requests.count == 1)
    #expect(try HARFile(at: file.path()).entries.map(\.request.url) == ["http://example.test/a"])
  }

  @Test(
    arguments: [
      ([:], Cassette.Mode.recordMissing), (["CI": "true"], .replay), (["CI": ""], .recordMissing),
      (["CI": "false"], .recordMissing), (["CI": "true", "MARTLET_CASSETTES": "record"], .recordAll),
      (["MARTLET_CASSETTES": "replay"], .replay), (["MARTLET_CASSETTES": "missing", "CI": "1"], .recordMissing),
      (["MARTLET_CASSETTES": "other"], .replay),
    ] as [([String: String], Cassette.Mode)])
  func `the environment chooses the mode`(_ environment: [String: String], _ mode: Cassette.Mode) {
    #expect(Cassette.Mode.of(environment) == mode)
  }

  // MARK: Matching

  @Test(
    arguments: [
      ("/a?page=2", nil, "the query is 'page=2' instead of 'page=1'"),
      ("/b?page=1", nil, "the path is '/b' instead of '/a'"),
      ("/a", nil, "the query is empty instead of 'page=1'"),
      ("https://other.test/a?page=1", nil, "the origin is 'https://other.test' instead of 'http://example.test'"),
      ("/a?page=1", "{\"n\":1}", "the method is POST instead of GET, there is a body, and none was recorded"),
      ("/p", "{\"name\":\"Bob\"}", "the body has '{\"name\":\"Bob\"}' instead of '{\"name\":\"Ada\"}' at character 10"),
      ("/p", "", "the body is missing"),
    ] as [(String, String?, String)])
  func `a request without an entry names the nearest one and what differs`(
    _ url: String, _ body: String?, _ difference: String
  ) async throws {
    let live = HTTPClient(recording { _ in .text("x") }.0, Self.settings)
    try await live.get("/a?page=1")
    try await live.post("/p", body: .text(#"{"name":"Ada"}"#, contentType: "application/json"))

    let client = HTTPClient(replaying(), Self.settings)
    let request = HTTPRequest(
      body == nil ? .get : .post, RequestTarget(url), body: body.map { .text($0, contentType: "application/json") })
    let error = try await #require(throws: HTTPError.self) { try await client.send(request) }

    #expect(error.message.contains("; the nearest is entry "), "\(error.message)")
    #expect(error.message.contains(", where \(difference); run the test with"), "\(error.message)")
  }

  @Test func `the comparison of requests can be configured`() async throws {
    let live = HTTPClient(recording { _ in .text("x") }.0, Self.settings)
    for number in 1...5 {
      try await live.post(
        "/a?time=\(number)&page=1", headers: ["Accept-Language": "en"], body: .text("\(number)"))
    }

    func matches(_ matching: Cassette.Matching, _ url: String, _ body: String, _ language: String = "en") async -> Bool
    {
      let client = HTTPClient(replaying(matching: matching), Self.settings)
      let response = try? await client.post(
        RequestTarget(url), headers: ["Accept-Language": language], body: .text(body))
      return response != nil
    }
    #expect(await matches(.standard, "/a?time=3&page=1", "3"))
    #expect(await !matches(.standard, "/a?time=3&page=1", "9"))
    #expect(await matches(.standard.ignoringBody(), "/a?time=3&page=1", "9"))
    #expect(await matches(.standard.ignoring(queryItems: ["time"]), "/a?time=9&page=1", "3"))
    #expect(await !matches(.standard.ignoring(queryItems: ["time"]), "/a?time=9&page=2", "3"))
    #expect(await matches(.standard.ignoringOrigin(), "https://other.test:1/a?time=3&page=1", "3"))
    #expect(await !matches(.standard.comparing(headers: ["accept-language"]), "/a?time=3&page=1", "3", "de"))
    #expect(await matches(.standard.comparing(headers: ["accept-language"]), "/a?time=3&page=1", "3"))
  }

  @Test func `recognizes a multipart form despite its random boundary`() async throws {
    func form() -> HTTPBody {
      .multipart {
        $0.add("Ada", for: "name")
        $0.add(Data([0, 1, 255]), for: "file", filename: "x.bin")
      }
    }
    try await HTTPClient(recording { _ in .text("x") }.0, Self.settings).post("/a", body: form())

    #expect(try await HTTPClient(replaying(), Self.settings).post("/a", body: form()).text == "x")
  }

  // MARK: Secrets

  @Test func `neither writes nor compares secrets`() async throws {
    let live = HTTPClient(
      recording { _ in
        .json(#"{"token":"canary","id":1}"#, headers: ["Set-Cookie": "sid=canary; Path=/", "X-Auth-Token": "canary"])
      }.0, Self.settings
    ) { $0.options.credential = .user("canary", password: "canary") }
    func request(_ secret: String) -> HTTPRequest {
      HTTPRequest(
        .post, "/a?api_key=\(secret)&page=1", headers: ["X-Api-Key": secret, "Cookie": "a=\(secret)"],
        body: .json(["password": secret, "name": "Ada"]))
    }
    let protobuf = HTTPRequest(
      .post, "/b", body: .data(Data("\u{0}canary".utf8), contentType: "application/x-protobuf"))
    #expect(try await live.send(request("canary")).text == #"{"token":"canary","id":1}"#)
    try await live.send(protobuf)

    let text = try String(contentsOf: file, encoding: .utf8)
    #expect(!text.contains("canary") && !text.contains(Data("canary:canary".utf8).base64EncodedString()))
    #expect(!text.contains(Data("\u{0}canary".utf8).base64EncodedString()))
    let client = HTTPClient(replaying(), Self.settings)
    let replayed = try await client.send(request("other"))
    #expect(replayed.text == #"{"token":"***","id":1}"# && replayed.headers["Set-Cookie"] == "sid=***; Path=/")
    try await client.send(protobuf)
    await #expect(throws: HTTPError.self) {
      try await client.send(HTTPRequest(.post, "/b", body: .data(Data([0]), contentType: "application/x-protobuf")))
    }
  }

  // MARK: Bodies

  @Test func `keeps large and binary bodies, the large ones in separate files`() async throws {
    let large = String(repeating: "é", count: 40_000)
    let bytes = Data((0..<70_000).map { UInt8(truncatingIfNeeded: $0) })
    let live = HTTPClient(
      recording { request in
        request.url?.path() == "/text" ? .text(large) : .status(.ok, headers: ["Content-Type": "x/y"], body: bytes)
      }.0, Self.settings)
    try await live.get("/text")
    try await live.get("/bytes")

    #expect(try Data(contentsOf: file).count < 4_000)
    let names = try FileManager.default.contentsOfDirectory(atPath: file.path() + ".bodies").sorted()
    #expect(names.count == 2 && names.allSatisfy { $0.count == 16 })
    let client = HTTPClient(replaying(), Self.settings)
    #expect(try await client.get("/text").text == large)
    #expect(try await client.get("/bytes").body == bytes)

    try FileManager.default.removeItem(atPath: file.path() + ".bodies")
    let error = try await #require(throws: HTTPError.self) {
      try await HTTPClient(replaying(), Self.settings).get("/text")
    }
    #expect(error.message.hasPrefix("entry 1 of cassette 'x.har' has a body in 'x.har.bodies/"))
    #expect(error.message.hasSuffix("', which cannot be read"))
  }

  @Test func `records a 304 and responses without a body`() async throws {
    func use(_ cassette: Cassette) async throws -> [Int] {
      let client = HTTPClient {
        $0.transport = cassette
        $0.baseURL = "http://example.test"
      }
      let first = try await client.get("/a")
      let second = try await client.get("/a")
      let head = try await client.head("/head")
      let deleted = try await client.delete("/a")
      #expect(first.body == second.body && second.source == .cache || second.cacheExplanation != nil)
      return [
        first.body.count, second.body.count, head.headers["Content-Length"].flatMap { Int($0) } ?? -1,
        deleted.body.count,
      ]
    }
    let (cassette, stub) = recording { request in
      if request.method == .head { return .status(.ok, headers: ["Content-Length": "1234"]) }
      if request.method == .delete { return .status(.noContent) }
      let isAsked = request.headers.contains("If-None-Match")
      return isAsked ? .status(.notModified, headers: ["ETag": "\"1\""]) : .text("hello", headers: ["ETag": "\"1\""])
    }

    let recorded = try await use(cassette)
    #expect(stub.requests.count == 4 && cassette.entryCount == 4)
    let tape = replaying()
    #expect(try await use(tape) == recorded && tape.unused.isEmpty)
  }

  @Test func `a replayed response is as fresh as when it was recorded`() async throws {
    let now = Date(timeIntervalSince1970: 1_800_000_000)
    let text = #"""
      {"log":{"version":"1.2","creator":{"name":"Martlet"},"entries":[{"startedDateTime":"2026-01-01T00:00:00.000Z",
      "request":{"method":"GET","url":"http://example.test/a"},"response":{"status":200,"headers":[
      {"name":"Date","value":"Thu, 01 Jan 2026 00:00:00 GMT"},{"name":"Expires","value":"Thu, 01 Jan 2026 00:01:00 GMT"},
      {"name":"Set-Cookie","value":"a=b; Expires=Thu, 01 Jan 2026 01:00:00 GMT; Path=/"}],
      "content":{"size":1,"mimeType":"text/plain","text":"x"}}}]}}
      """#
    try folder.write(text, to: "c/x.har")
    let client = HTTPClient(replaying(), Self.settings) {
      $0.cache = .memory()
      $0.now = { now }
    }

    let response = try await client.get("/a")
    #expect(response.headers["Date"] == "\(HTTPDate(now))" && response.headers["Expires"] == "\(HTTPDate(now + 60))")
    #expect(response.headers["Set-Cookie"] == "a=b; Expires=\(HTTPDate(now + 3600)); Path=/")
    #expect(try await client.get("/a").source == .cache)
  }

  @Test func `a masked response can be decoded like the original`() async throws {
    struct Session: Codable, Equatable { var code: Int, token: String, session: [String: [Int]], next: String }
    let live = HTTPClient(
      recording { _ in
        .json(#"{"code":7,"token":"canary","session":{"ids":[1,-2.5e3]},"next":"https://a.test/?page_token=","n":[]}"#)
      }.0, Self.settings)
    #expect(throws: Never.self) { try JSONDecoder().decode(JSONValue.self, from: Data("{}".utf8)) }
    _ = try await live.post("/a", body: .json(["next": "https://a.test/?token=", "key": "1"]))

    let client = HTTPClient(replaying(), Self.settings)
    let response = try await client.post("/a", body: .json(["next": "https://a.test/?token=", "key": "2"]))
    #expect(
      try response.json(Session.self)
        == Session(code: 0, token: "***", session: ["ids": [0, 0]], next: "https://a.test/?page_token=***"))
  }

  @Test(arguments: [HTTPBody.data(Data()), .text(""), .stream { AsyncStream<Data> { $0.finish() } }])
  func `recognizes an empty body`(_ body: HTTPBody) async throws {
    try await HTTPClient(recording { _ in .text("x") }.0, Self.settings).post("/a", body: body)

    #expect(try await HTTPClient(replaying(), Self.settings).post("/a", body: body).text == "x")
  }

  @Test func `several cassettes of one file add to its entries`() async throws {
    for mode in [Cassette.Mode.recordMissing, .recordAll] {
      let cassettes = (0..<5).map { _ in recording(mode) { request in .text(request.url?.path() ?? "") }.0 }
      for (number, cassette) in cassettes.enumerated() {
        try await HTTPClient(cassette, Self.settings).get(RequestTarget("/\(mode.rawValue)/\(number)"))
      }
      let entries = try HARFile(at: file.path()).entries
      #expect(entries.map(\.request.url) == (0..<5).map { "http://example.test/\(mode.rawValue)/\($0)" })
    }
  }

  @Test func `keeps and masks text in another character set`() async throws {
    let text = Data(#"{"token":"canary","name":"caf"#.utf8) + [0xE9] + Data(#""}"#.utf8)
    let live = HTTPClient(
      recording { _ in .status(.ok, headers: ["Content-Type": "application/json; charset=windows-1252"], body: text) }
        .0, Self.settings)
    try await live.get("/a")

    let replayed = try await HTTPClient(replaying(), Self.settings).get("/a").body
    #expect(replayed == Data(#"{"token":"***","name":"caf"#.utf8) + [0xE9] + Data(#""}"#.utf8))
  }

  @Test func `records nothing in another program's file, and replays its failures`() async throws {
    let text = #"""
      {"log":{"version":"1.2","creator":{"name":"WebInspector"},"entries":[{"request":{"method":"GET","url":
      "http://example.test/a"},"response":{"status":0,"_error":"net::ERR_FAILED"}}]}}
      """#
    try folder.write(text, to: "c/x.har")
    let client = HTTPClient(recording { _ in .text("x") }.0, Self.settings)

    let lost = try await #require(throws: HTTPError.self) { try await client.get("/a") }
    let refused = try await #require(throws: HTTPError.self) { try await client.get("/b") }

    #expect(lost.kind == .connectionLost && lost.message.hasSuffix("has no response: net::ERR_FAILED"))
    #expect(
      refused.kind == .fileFailed
        && refused.message.hasSuffix("was recorded by another program: record to a separate file")
    )
    #expect(try String(contentsOf: file, encoding: .utf8) == text)
  }

  @Test(arguments: [
    (#""_file":"../secret""#, "names a file outside of its folder for its body: '../secret'"),
    (#""_file":"/etc/passwd""#, "names a file outside of its folder for its body: '/etc/passwd'"),
    (#""_file":"../\u0301secret""#, "names a file outside of its folder for its body: '../\u{301}secret'"),
    (#""_file":"a/..""#, "names a file outside of its folder for its body: 'a/..'"),
    (#""_file":"link""#, "names a file behind a symbolic link for its body: 'link'"),
    (#""_file":"up/secret""#, "names a file behind a symbolic link for its body: 'up/secret'"),
    (#""_file":"a""#, "has a body in 'a', which cannot be read"),
    (#""text":"a","_truncated":true"#, "has only the beginning of its body"),
    (#""comment":"too large""#, "has no body: too large"),
  ])
  func `a missing body is an error`(_ content: String, _ problem: String) async throws {
    let text = #"""
      {"log":{"version":"1.2","entries":[{"request":{"method":"GET","url":"http://example.test/a"},"response":{
      "status":200,"content":{"size":9,"mimeType":"text/plain",\#(content)}}}]}}
      """#
    try folder.write(text, to: "c/x.har")
    for name in ["secret", "\u{301}secret"] { try folder.write("canary", to: name) }
    for (name, target) in [("c/link", "../secret"), ("c/up", "..")] {
      try FileManager.default.createSymbolicLink(atPath: folder.path(name), withDestinationPath: target)
    }

    let error = try await #require(throws: HTTPError.self) {
      try await HTTPClient(replaying(), Self.settings).get("/a")
    }

    #expect(error.kind == .fileFailed && error.message == "entry 1 of cassette 'x.har' \(problem)")
  }

  @Test func `a browser's recording can be replayed`() async throws {
    let text = #"""
      {"log":{"version":"1.2","creator":{"name":"WebInspector"},"entries":[{"request":{"method":"GET","url":
      "http://example.test/a?token=secret","headers":[{"name":":method","value":"GET"}]},"response":{"status":200,
      "httpVersion":"http/2.0","headers":[{"name":"content-encoding","value":"gzip"},{"name":"content-length","value":"9"},
      {"name":"transfer-encoding","value":"chunked"},{"name":"x","value":"y"}],"content":{"size":5,"mimeType":"text/plain",
      "text":"hello"}}}]}}
      """#
    try folder.write(text, to: "c/x.har")

    let response = try await HTTPClient(replaying(), Self.settings).get("/a?token=other")

    #expect(response.text == "hello" && response.headers == ["x": "y"] && response.httpVersion == .http2)
  }

  @Test(
    arguments: [
      (nil, "does not exist; run the test with MARTLET_CASSETTES=missing to record it"),
      ("{", "line 1: not a HAR file, because it is not JSON"),
      (#"{"log":{"version":"9.0","entries":[]}}"#, "HAR version '9.0' is not supported"),
      (#"{"log":{"version":"1.2","entries":[{}]}}"#, "line 1: entry 1 has no request.method"),
    ] as [(String?, String)])
  func `an unreadable cassette fails each request`(_ text: String?, _ problem: String) async throws {
    if let text { try folder.write(text, to: "c/x.har") }
    let client = HTTPClient(replaying(), Self.settings)

    for _ in 0..<2 {
      let error = try await #require(throws: HTTPError.self) { try await client.get("/a") }
      #expect(error.kind == .fileFailed && error.message.contains("x.har") && error.message.contains(problem))
    }
  }

  // MARK: Time and faults

  @Test func `the recorded time passes on a test clock, and the body arrives in chunks`() async throws {
    let text = #"""
      {"log":{"version":"1.2","entries":[{"request":{"method":"GET","url":"http://example.test/a"},"response":{
      "status":200,"content":{"size":16,"mimeType":"text/plain","text":"0123456789abcdef"}},"timings":{"blocked":5,"dns":-1,
      "connect":10,"send":1,"wait":100,"receive":80}}]}}
      """#
    try folder.write(text, to: "c/x.har")
    let clock = TestClock()

    let client = HTTPClient(replaying(pacing: .recorded(clock)), Self.settings)
    let pieces = try await client.stream("/a") { response in
      var pieces: [String] = []
      for try await piece in response.body { pieces.append(String(decoding: piece, as: UTF8.self)) }
      return pieces
    }

    #expect(pieces == ["01", "23", "45", "67", "89", "ab", "cd", "ef"])
    #expect(
      clock.sleeps.first == .milliseconds(116)
        && clock.sleeps.dropFirst().prefix(8).allSatisfy { $0 == .milliseconds(10) })
  }

  @Test func `adds faults to replayed responses`() async throws {
    let live = HTTPClient(recording { _ in .text("0123456789") }.0, Self.settings)
    for _ in 0..<4 { try await live.get("/a") }
    let clock = TestClock()
    let tape = replaying(pacing: .recorded(clock))
    tape.add(.status(.serviceUnavailable), to: "/a")
    tape.add(.failure(.connectionLost), count: 1)
    tape.add(.cut(after: 4), to: "/a")
    tape.add(.delay(.seconds(3)))
    tape.add(.status(.notFound), to: "/other")
    let client = HTTPClient(tape, Self.settings) { $0.clock = clock }

    var kinds: [HTTPError.Kind] = []
    for _ in 0..<3 {
      let error = try await #require(throws: HTTPError.self) { try await client.get("/a") }
      kinds.append(error.kind)
    }
    #expect(kinds == [.status, .connectionLost, .connectionLost] && clock.sleeps.contains(.seconds(3)))
    for _ in 0..<3 { #expect(try await client.get("/a").text == "0123456789") }
  }

  @Test func `does not record a body that is not read to its end`() async throws {
    let (cassette, _) = recording { _ in .streamed { Data("x".utf8) } }
    try await HTTPClient(cassette, Self.settings).stream("/a") { response in
      var pieces = response.body.makeAsyncIterator()
      _ = try await pieces.next()
    }

    #expect(cassette.entryCount == 0 && !FileManager.default.fileExists(atPath: file.path()))
  }

  @Test func `clients share a cassette, and each request gets its own response`() async throws {
    let live = HTTPClient(recording { request in .text(request.url?.path() ?? "") }.0, Self.settings)
    for number in 0..<50 { try await live.get("/\(number)") }
    let tape = replaying()
    let clients = (0..<5).map { _ in HTTPClient(tape, Self.settings) }

    let texts = try await withThrowingTaskGroup(of: (String, String).self) { group in
      for number in 0..<50 {
        let client = clients[number % 5]
        group.addTask { ("/\(number)", try await client.get("/\(number)").text) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }

    #expect(texts.count == 50 && texts.allSatisfy { $0.0 == $0.1 } && tape.unused.isEmpty)
  }
}
