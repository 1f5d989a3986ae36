#if os(Linux)
  import Foundation
  import HTTPTypes
  import Integrations
  import Martlet
  import MartletTesting
  import OpenAPIRuntime
  import Synchronization
  import Testing

  /// A generated client, written by hand, that uses `MartletTransport`.
  @Suite(.timeLimit(.minutes(2))) struct OpenAPITests {
    private static func pets(
      _ server: MockServer, path: String = "", _ change: (inout HTTPClient.Configuration) -> Void = { _ in },
      options: @escaping @Sendable (String) -> RequestOptions = { .tag($0) }
    ) throws -> PetsClient {
      let url = try #require(URL(string: server.url + path))
      return PetsClient(serverURL: url, transport: MartletTransport(HTTPClient(change), options: options))
    }

    private final class Counter: Sendable {
      let value = Atomic(0)
    }

    /// A body of chunks without an end, which counts them.
    private static func endless(_ counter: Counter) -> OpenAPIRuntime.HTTPBody {
      let chunk = ArraySlice([UInt8](repeating: 7, count: 64 << 10))
      let chunks = AsyncStream {
        counter.value.add(1, ordering: .relaxed)
        return chunk
      }
      return OpenAPIRuntime.HTTPBody(chunks, length: .unknown, iterationBehavior: .single)
    }

    @Test func `an operation sends its path, query and fields unchanged, and receives JSON`() async throws {
      let server = try MockServer(.json(#"{"name":"Ada"}"#, headers: ["X-Tag": "a", "x-tag": "b, c"]))
      let pets = try Self.pets(server, path: "/api%20x/v1/")

      let output = try await pets.getPet(id: "a/b c%?..", tags: ["x&y", "z"])

      guard case .ok(let pet, let fields) = output else { throw PetsClient.Unexpected() }
      let tag = try #require(HTTPField.Name("X-Tag"))
      #expect(pet.name == "Ada" && fields[values: tag] == ["a", "b, c"])
      let request = try #require(server.requests.first)
      #expect(request.target == "/api%20x/v1/pets/a%2Fb%20c%25%3F..?tag=x%26y&tag=z")
      #expect(request.headers(named: "Accept") == ["application/json"] && request.header("Content-Length") == nil)
    }

    @Test(arguments: [301, 404, 418, 500]) func `any status is returned`(status: Int) async throws {
      let server = try MockServer(.status(status, body: "reason"))
      let pets = try Self.pets(server)

      switch try await pets.getPet(id: "1") {
      case .ok: throw PetsClient.Unexpected()
      case .notFound(let body): #expect(status == 404 && body == Data("reason".utf8))
      case .undocumented(let code, let fields, let body):
        let text = try await Data(collecting: #require(body), upTo: 100)
        #expect(code == status && text == Data("reason".utf8) && fields[.contentLength] == "6")
      }
    }

    @Test func `a body that can be iterated again is sent again`() async throws {
      let server = try MockServer(script: [.status(503), .json(#"{"name":"Ada"}"#, status: 201)])
      let pets = try Self.pets(server) {
        $0.retry = .backoff(attempts: 3, initialDelay: .milliseconds(1))
      } options: { _ in
        .isIdempotent()
      }

      #expect(try await pets.createPet(PetsClient.Pet(name: "Ada")).name == "Ada")

      #expect(server.requests.map(\.text) == [#"{"name":"Ada"}"#, #"{"name":"Ada"}"#])
      #expect(server.requests.map { $0.header("Content-Length") } == ["14", "14"])
      #expect(server.requests.map { $0.header("Content-Type") == "application/json; charset=utf-8" } == [true, true])
    }

    @Test func `a body that can be iterated once is sent once`() async throws {
      let server = try MockServer(.status(503))
      let pets = try Self.pets(server) { $0.retry = .backoff(attempts: 3, initialDelay: .milliseconds(1)) }
      let body = OpenAPIRuntime.HTTPBody(
        AsyncStream([ArraySlice("abc".utf8)]), length: .known(3), iterationBehavior: .single)

      #expect(try await pets.import(body).status == 503)

      #expect(server.requests.count == 1 && server.requests.first?.header("Content-Length") == "3")
      #expect(server.requests.first?.text == "abc" && server.requests.first?.header("Transfer-Encoding") == nil)
    }

    @Test func `a body of another length than announced is an error`() async throws {
      let server = try MockServer(.ok())
      let body = OpenAPIRuntime.HTTPBody(
        AsyncStream([ArraySlice("abc".utf8)]), length: .known(4), iterationBehavior: .single)

      let error = await #expect(throws: HTTPError.self) { try await Self.pets(server).import(body) }

      #expect(error?.kind == .invalidRequest && !server.requests.contains(where: \.isComplete))
    }

    @Test func `bodies are streamed in both directions at the same time`() async throws {
      let server = try MockServer(.echoWhileReading)
      let (chunks, continuation) = AsyncStream.makeStream(of: ArraySlice<UInt8>.self)
      let body = OpenAPIRuntime.HTTPBody(chunks, length: .unknown, iterationBehavior: .single)

      let echo = try #require(try await Self.pets(server).import(body).body)
      var iterator = echo.makeAsyncIterator()
      for number in 0..<50 {
        let text = ArraySlice(String(repeating: "\(number),", count: 100).utf8)
        continuation.yield(text)
        var received: [UInt8] = []
        while received.count < text.count, let chunk = try await iterator.next() { received += chunk }
        #expect(received == Array(text))
      }
      continuation.finish()

      #expect(try await iterator.next() == nil)
      #expect(server.requests.first?.header("Transfer-Encoding") == "chunked")
    }

    @Test func `an upload is read no faster than the server accepts it, until the deadline`() async throws {
      let server = try MockServer(MockResponse.hang.withoutReadingBody(pausesReading: true))
      let pets = try Self.pets(server)
      let counter = Counter()

      let error = await #expect(throws: HTTPError.self) {
        try await withDeadline(.seconds(2)) { try await pets.import(Self.endless(counter)) }
      }

      #expect(error?.kind == .timedOut && error?.deadline != nil)
      // Sockets buffer a few megabytes; each chunk has 64 KiB.
      #expect((1..<1024).contains(counter.value.load(ordering: .relaxed)))
    }

    @Test func `a download arrives in chunks, and releasing it ends the request`() async throws {
      let server = try MockServer(.repeating(Data(repeating: 7, count: 1 << 20), count: 1 << 12))
      do {
        let body = try #require(try await Self.pets(server).export())
        #expect(body.length == .known(1 << 32) && body.iterationBehavior == .single)
        for try await chunk in body {
          #expect(chunk.allSatisfy { $0 == 7 })
          break
        }
      }

      #expect(await server.wait { $0.disconnects == 1 })
    }

    @Test func `a truncated download is an error`() async throws {
      let server = try MockServer(MockResponse.ok("hello").thenCut())
      let body = try #require(try await Self.pets(server).export())

      let error = await #expect(throws: HTTPError.self) { try await Data(collecting: body, upTo: 100) }

      #expect(error?.kind == .connectionLost)
    }

    @Test func `cancelling the task ends the request`() async throws {
      let server = try MockServer(.hang)
      let pets = try Self.pets(server)
      let task = Task { try await pets.export() != nil }
      #expect(await server.waitForRequests(1))

      task.cancel()

      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(await server.wait { $0.disconnects == 1 })
    }

    @Test func `a decoded response has no fields about its encoded form`() async throws {
      let text = String(repeating: "hello ", count: 1_000)
      let coded = try await Martlet.HTTPBody.text(text).gzipped().bytes()
      let server = try MockServer(.data(coded, status: 202, headers: ["Content-Encoding": "gzip"]))

      let output = try await Self.pets(server).getPet(id: "1")

      guard case .undocumented(202, let fields, let body?) = output else { throw PetsClient.Unexpected() }
      #expect(try await Data(collecting: body, upTo: 10_000) == Data(text.utf8) && body.length == .unknown)
      #expect(fields[.contentEncoding] == nil && fields[.contentLength] == nil)
    }

    @Test func `responses without a body have none`() async throws {
      let server = try MockServer(script: [.empty(200, headers: ["Content-Length": "9"]), .empty(204)])
      let pets = try Self.pets(server)

      let (head, none) = try await pets.head()
      #expect(head.headerFields[.contentLength] == "9" && none == nil)
      #expect(try await pets.export() == nil)
    }

    @Test func `a multipart upload is streamed`() async throws {
      let server = try MockServer(.status(201))
      let photo = OpenAPIRuntime.HTTPBody(
        AsyncStream([ArraySlice([0, 0xFF]), [0x0D, 0x0A]]), length: .unknown, iterationBehavior: .single)

      let status = try await Self.pets(server).uploadPhotos(
        id: "1",
        [
          PetsClient.Part(name: "title", body: OpenAPIRuntime.HTTPBody(Data("Ada".utf8))),
          PetsClient.Part(name: "photo", filename: "a.png", body: photo),
        ], boundary: "b42")

      var expected = Data("--b42\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nAda\r\n".utf8)
      expected += Data("--b42\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"a.png\"\r\n\r\n".utf8)
      expected += Data([0, 0xFF, 0x0D, 0x0A]) + Data("\r\n--b42--\r\n".utf8)
      #expect(status == 201 && server.requests.first?.body == expected)
      #expect(server.requests.first?.header("Content-Type") == "multipart/form-data; boundary=b42")
    }

    @Test func `invalid targets are refused before anything is sent`() async throws {
      let server = try MockServer(.ok())
      for (path, id) in [("", ".."), ("", "."), ("?key=1", "1"), ("#top", "1")] {
        let error = await #expect(throws: HTTPError.self) { try await Self.pets(server, path: path).getPet(id: id) }
        #expect(error?.kind == .invalidRequest, "\(path) \(id)")
      }
      let relative = PetsClient(
        serverURL: try #require(URL(string: "/api")), transport: MartletTransport(HTTPClient()))
      let error = await #expect(throws: HTTPError.self) { try await relative.export() }

      #expect(error?.kind == .invalidRequest && server.requests.isEmpty)
    }

    @Test func `a relative server URL is joined to the client's base URL`() async throws {
      let server = try MockServer(.ok("x"))
      let client = HTTPClient { $0.baseURL = RequestTarget(text: server.url("/base")) }
      let pets = PetsClient(serverURL: try #require(URL(string: "/api")), transport: MartletTransport(client))

      _ = try await pets.export()

      #expect(server.requests.first?.target == "/base/api/export")
    }
  }

  extension AsyncStream where Element == ArraySlice<UInt8> {
    /// A stream of these chunks.
    fileprivate init(_ chunks: [Element]) {
      self.init { continuation in
        for chunk in chunks { continuation.yield(chunk) }
        continuation.finish()
      }
    }
  }
#endif
