import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

@Suite(.hangLimit) struct HTTPBodyTests {
  /// Sends a body and returns its error, which must be thrown before anything is sent.
  private static func refusal(_ body: HTTPBody) async throws -> HTTPError {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient(transport)

    let error = try await #require(throws: HTTPError.self) {
      try await client.post("http://example.test/", body: body)
    }
    let managed = await #expect(throws: HTTPError.self) {
      try await client.start(.post("http://example.test/", body: body)).value
    }

    #expect(transport.requests.isEmpty)
    #expect(managed?.kind == error.kind)
    return error
  }

  private static func withFile<R>(_ data: Data, _ work: (URL) async throws -> R) async throws -> R {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    return try await work(try folder.write(data, to: "body % é.bin"))
  }

  // MARK: Reading

  @Test func `middleware reads the bytes of a replayable body, which are then sent`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient {
      $0.transport = transport
      $0.exchangeMiddleware = [
        .changing {
          $0.body = try await $0.body?.collected()
          $0.headers["X-Body"] = try await $0.body?.bytes().base64EncodedString()
        }
      ]
    }
    let once = AsyncStream<Data> { continuation in
      continuation.yield(Data("on".utf8))
      continuation.yield(Data("ce".utf8))
      continuation.finish()
    }

    try await Self.withFile(Data("file".utf8)) { file in
      let bodies: [HTTPBody] = [
        .text("text"), .file(file), .json(["a": 1]), .form(["a": "b"]), .stream(once), .data(Data()),
      ]
      for body in bodies { try await client.post("http://example.test/", body: body) }
    }

    let sent = transport.requests.map { $0.headers["X-Body"].flatMap { Data(base64Encoded: $0) } ?? Data() }
    #expect(sent.map { String(decoding: $0, as: UTF8.self) } == ["text", "file", #"{"a":1}"#, "a=b", "once", ""])
    for (request, bytes) in zip(transport.requests, sent) { #expect(try await request.bodyData() == bytes) }
  }

  @Test func `reading fails for a body that is too large, used, missing or read once`() async throws {
    let once = HTTPBody.stream(AsyncStream<Data> { $0.finish() })
    let cases: [(HTTPBody, HTTPError.Kind)] = [
      (.data(Data(count: 11)), .bodyTooLarge), (once, .bodyNotReplayable), (.json(Double.nan), .invalidRequest),
      (.file(URL(filePath: "/missing")), .fileFailed),
    ]

    for (body, kind) in cases {
      let error = await #expect(throws: HTTPError.self) { try await body.bytes(upTo: 10) }
      #expect(error?.kind == kind)
    }
    #expect(try await HTTPBody.data(Data(count: 10)).bytes(upTo: 10).count == 10)
    #expect(try await once.collected().isReplayable)
    let error = await #expect(throws: HTTPError.self) { try await once.collected() }
    #expect(error?.kind == .bodyNotReplayable)
  }

  // MARK: Creation

  @Test(
    arguments: [
      (HTTPBody.data(Data(count: 3)), "application/octet-stream", 3), (.data(Data(), contentType: nil), nil, 0),
      (.data(Data(count: 1), contentType: "image/png"), "image/png", 1),
      (.text("é"), "text/plain; charset=utf-8", 2), (.text("<a/>", contentType: "text/xml"), "text/xml", 4),
      (.json([1, 2], encoder: JSONEncoder()), "application/json", 5),
      (.form(["a": "x y", "b": ["1", "2"]]), "application/x-www-form-urlencoded", 13),
    ] as [(HTTPBody, String?, Int64)])
  func `each factory sets its content type and its length`(body: HTTPBody, type: String?, length: Int64) async throws {
    let transport = StubTransport { _ in .text("x") }

    _ = try await HTTPClient(transport).post("http://example.test/", body: body)

    #expect(body.contentType == type)
    #expect(body.length == length)
    #expect(body.isReplayable)
    #expect(transport.requests.first?.headers["Content-Type"] == type)
    #expect(transport.requests.first?.body == body)
  }

  @Test func `the sending client encodes JSON values, even in multipart and concatenated bodies`() async throws {
    struct Person: Codable, Equatable { var firstName: String, born: Date }
    let ada = Person(firstName: "Ada", born: Date(timeIntervalSince1970: 0))
    let transport = StubTransport { request in .json(String(decoding: try await request.bodyData(), as: UTF8.self)) }
    let client = HTTPClient {
      $0.transport = transport
      $0.baseURL = "http://example.test"
      $0.encoder.keyEncodingStrategy = .convertToSnakeCase
      $0.encoder.dateEncodingStrategy = .iso8601
      $0.decoder.keyDecodingStrategy = .convertFromSnakeCase
      $0.decoder.dateDecodingStrategy = .iso8601
    }

    #expect(try await client.post("/", body: .json(ada), as: Person.self) == ada)
    let form = HTTPBody.multipart(boundary: "b") { $0.add(.json(ada), for: "person") }
    for body in [HTTPBody.json(ada), form, .concatenating([.json(ada), .text("x")])] {
      let text = try await client.send(HTTPRequest(.post, "/", body: body)).text
      #expect(text.contains(#""first_name":"Ada""#) && text.contains("1970-01-01T00:00:00Z"), "\(text)")
    }
    #expect(try await client.post("/", body: .json(ada, encoder: JSONEncoder())).text.contains("firstName"))
    // One client's encoder affects neither unrelated clients nor the client that it is derived from.
    let other = HTTPClient { $0.transport = transport }
    #expect(try await other.post("http://example.test/", body: .json(ada)).text.contains("firstName"))
    let derived = client.derived { $0.encoder.keyEncodingStrategy = .useDefaultKeys }
    #expect(try await derived.post("/", body: .json(ada)).text.contains("firstName"))
    #expect(try await client.post("/", body: .json(ada)).text.contains("first_name"))
  }

  private struct Wide: Codable, Equatable, Sendable {
    var firstName = "Ada"
    var b = 2
    var c = [3: "x", 4: "y"]
    var d = true
  }

  private static func snakes(_ transport: any Transport) -> HTTPClient {
    HTTPClient {
      $0.transport = transport
      $0.encoder.keyEncodingStrategy = .convertToSnakeCase
    }
  }

  @Test func `a body with many members is equal to itself and to the body that is sent`() async throws {
    let transport = StubTransport { _ in .text("x") }
    for _ in 1...20 {
      let body = HTTPBody.json(Wide())
      #expect(body == body && body == .json(Wide()) && Set([body, .json(Wide())]).count == 1)
      try await HTTPClient(transport).post("http://example.test/", body: body)
      #expect(transport.requests.last?.body == body)
    }
  }

  @Test func `a JSON literal keeps its keys and follows the client's output formatting`() async throws {
    let transport = StubTransport { request in .json(String(decoding: try await request.bodyData(), as: UTF8.self)) }
    let client = Self.snakes(transport)
    client.configuration.encoder.outputFormatting = []
    await client.update { $0.encoder.outputFormatting = .sortedKeys }

    let text = try await client.post("http://example.test/", body: .json(["oneName": 1, "aName": "x"])).text

    #expect(text == #"{"aName":"x","oneName":1}"#)
  }

  @Test func `spools, redirects, middleware and curl commands use the client's encoder`() async throws {
    let transport = StubTransport { request in
      request.url?.path == "/old"
        ? .redirect(to: "/new") : .text(String(decoding: try await request.bodyData(), as: UTF8.self))
    }
    let client = Self.snakes(transport)
    let stream = HTTPBody.stream(AsyncStream<Data> { $0.finish() })
    let spooled = HTTPBody.concatenating([.json(Wide()), stream]).spooled()

    #expect(try await client.post("http://example.test/", body: spooled).text.contains("first_name"))
    let replacing = RequestOptions.redirects(
      .ask { _ in .replace(.post("http://example.test/x", body: .json(Wide()))) })
    #expect(try await client.get("http://example.test/old", options: replacing).text.contains("first_name"))
    let setsBody = ClosureMiddleware.changing { $0.body = .json(Wide()) }
    let setting = client.derived { $0.middleware = [setsBody] }
    #expect(try await setting.post("http://example.test/").text.contains("first_name"))
    let last = client.derived { $0.exchangeMiddleware = [setsBody] }
    #expect(try await last.post("http://example.test/").text.contains("first_name"))
    let command = try client.curlCommand(for: .post("http://example.test/", body: .json(Wide())))
    #expect(command.contains("first_name") && !command.contains("firstName"))
  }

  @Test func `clients with the same configuration have independent encoders`() async throws {
    let transport = StubTransport { request in .text(String(decoding: try await request.bodyData(), as: UTF8.self)) }
    var base = HTTPClient.Configuration()
    base.transport = transport
    let one = HTTPClient { [base] in $0 = base }
    let other = HTTPClient { [base] in
      $0 = base
      $0.encoder.keyEncodingStrategy = .convertToSnakeCase
    }

    #expect(try await one.post("http://example.test/", body: .json(Wide())).text.contains("firstName"))
    #expect(try await other.post("http://example.test/", body: .json(Wide())).text.contains("first_name"))
  }

  @Test func `compares bodies by value`() {
    #expect(HTTPBody.json([1]) == .data(Data("[1]".utf8), contentType: "application/json"))
    #expect(HTTPBody.json([1]) != .json([2]) && HTTPBody.json([1]).length == nil)
    #expect(HTTPBody.text("a") == .text("a"))
    #expect(HTTPBody.text("a") != .text("b"))
    #expect(HTTPBody.text("a") != .text("a", contentType: "text/html"))
    #expect(Set([HTTPBody.json([1]), .json([1]), .data(Data([1]))]).count == 2)
  }

  @Test func `the Content-Type of the request overrides the body's`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let request = HTTPRequest.post(
      "http://example.test/", headers: ["content-type": "application/vnd.api+json"], body: .json([1]))

    _ = try await HTTPClient(transport).send(request)

    #expect(transport.requests.first?.headers[all: "Content-Type"] == ["application/vnd.api+json"])
  }

  @Test func `encodes JSON with the given encoder`() async throws {
    struct Order: Encodable { var itemCount = 1 }
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase

    let body = HTTPBody.json(Order(), encoder: encoder)

    #expect(body == .data(Data(#"{"item_count":1}"#.utf8), contentType: "application/json"))
  }

  // MARK: Bodies that cannot be sent

  @Test func `sending a value that JSON cannot represent fails`() async throws {
    struct Order: Encodable { var prices: [Double] }
    let body = HTTPBody.json(Order(prices: [1, .infinity]))

    let error = try await Self.refusal(body)

    #expect(body.length == nil)
    #expect(error.kind == .invalidRequest)
    let place = "the JSON body cannot be encoded: a value of type Double at .prices[1]"
    #expect(error.message == place + ", which is NaN or infinite: JSON has no such number (RFC 8259 §6)")
  }

  @Test func `the error about an unencodable value does not reveal the value`() async throws {
    struct Login: Encodable {
      var password = "hunter2"
      func encode(to encoder: any Encoder) throws {}
    }
    struct Failing: Encodable {
      struct Broken: Error { var password = "hunter2" }
      func encode(to encoder: any Encoder) throws { throw Broken() }
    }

    let empty = try await Self.refusal(.json(Login()))
    let failing = try await Self.refusal(.json(Failing()))

    #expect(!empty.description.contains("hunter2"))
    #expect(!failing.description.contains("hunter2"))
  }

  @Test func `rejects a content type that is not a valid field value`() async throws {
    let error = try await Self.refusal(.text("x", contentType: "text/plain\r\nX-A: b"))

    #expect(error.kind == .invalidRequest)
  }

  // MARK: Files

  @Test func `a file body has the current length of the file`() async throws {
    try await Self.withFile(Data(count: 1234)) { url in
      let transport = StubTransport { _ in .text("x") }
      let body = HTTPBody.file(url)

      _ = try await HTTPClient(transport).post("http://example.test/", body: body)
      let before = body.length
      try Data(count: 5).write(to: url)

      #expect(before == 1234)
      #expect(body.length == 5)
      #expect(transport.requests.first?.headers["Content-Type"] == "application/octet-stream")
    }
  }

  @Test func `follows a symbolic link to a file`() async throws {
    try await Self.withFile(Data(count: 7)) { url in
      let link = url.deletingLastPathComponent().appending(path: "link")
      try FileManager.default.createSymbolicLink(at: link, withDestinationURL: url)

      #expect(HTTPBody.file(link).length == 7)
    }
  }

  @Test func `rejects a file that does not exist`() async throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "martlet-missing-\(UUID().uuidString)")

    let error = try await Self.refusal(.file(url))

    #expect(error.kind == .fileFailed)
    #expect(error.message.contains("does not exist"))
    #expect(HTTPBody.file(url).length == nil)
  }

  @Test func `rejects a folder`() async throws {
    let error = try await Self.refusal(.file(FileManager.default.temporaryDirectory))

    #expect(error.kind == .fileFailed)
    #expect(error.message.contains("not a regular file"))
  }

  @Test(.enabled(if: geteuid() != 0, "root may read every file"))
  func `rejects an unreadable file`() async throws {
    try await Self.withFile(Data(count: 1)) { url in
      try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: url.path(percentEncoded: false))

      let error = try await Self.refusal(.file(url))

      #expect(error.kind == .fileFailed)
      #expect(error.message.contains("cannot be read"))
    }
  }

  @Test(arguments: ["https://example.test/file", "relative", "data:,x"])
  func `rejects a URL that is not a file URL`(text: String) async throws {
    let error = try await Self.refusal(.file(try #require(URL(string: text))))

    #expect(error.kind == .invalidRequest)
    #expect(error.message.contains("needs a file URL"))
  }

  @Test func `the error about a URL that is not a file URL contains no secrets`() async throws {
    let url = try #require(URL(string: "https://ada:hunter2@example.test/?token=abc123"))

    let error = try await Self.refusal(.file(url))

    #expect(!error.description.contains("hunter2"))
    #expect(!error.description.contains("abc123"))
  }

  @Test func `rejects a body for HEAD`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.onTestClock { $0.transport = transport }
    let request = HTTPRequest(.head, "http://example.test/", body: .text("x"))

    let error = try await #require(throws: HTTPError.self) { try await client.send(request) }

    #expect(error.kind == .invalidRequest)
    #expect(transport.requests.isEmpty)
  }
}
