#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  @testable import MartletBase

  /// Trailers of responses and of requests.
  @Suite(.hangLimit) struct TrailerTests {
    private static func request(_ server: MockServer, _ body: HTTPBody, _ headers: HTTPHeaders = [:]) -> HTTPRequest {
      HTTPRequest(.post, RequestTarget(server.url), headers: headers, body: body)
    }

    // MARK: Responses

    @Test(arguments: Lane.engines) func `response trailers are read with the body`(_ lane: Lane) async throws {
      let server = try MockServer(
        .chunked(["hello"], headers: ["X-A": "head"], trailers: ["X-A": "1", "Content-Type": "a/b", "X-B": "2"]))

      let response = try await lane.client().get(RequestTarget(server.url))

      #expect(response.text == "hello")
      #expect(response.trailers == ["X-A": "1", "X-B": "2"])
      #expect(response.headers[all: "X-A"] == ["head"] && response.headers["Content-Type"] == nil)
      #expect(try await lane.client().head(RequestTarget(server.url)).trailers == [:])
    }

    @Test(arguments: Lane.engines) func `trailers of a streamed response are available after its body`(
      _ lane: Lane
    ) async throws {
      let server = try SteppedServer()
      let client = lane.client()

      let (before, after) = try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          try await server.request()
          try await server.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
        }
        return try await client.stream(.get(server.target)) { response in
          var before: HTTPHeaders?
          for try await _ in response.body {
            before = response.trailers
            try await server.send("0\r\nX-Sum: 5\r\n\r\n")
          }
          return (before, response.trailers)
        }
      }

      #expect(before == [:])
      #expect(after == ["X-Sum": "5"])
    }

    @Test(.needsHTTP2Server, arguments: Lane.engines) func `response trailers are read over HTTP/2`(_ lane: Lane)
      async throws
    {
      let authority = try await CertificateAuthority()
      let server = try await HTTP2Server(try await authority.identity())
      let client = lane.client { [root = authority.root] in $0.tls = .customRoots(pem: root) }

      let response = try await client.get(server.target(1, ["head", "data:ok", "trailer:x-sum=1:date=x:x-two=2"]))
      let empty = try await client.get(server.target(2, ["head", "trailer:grpc-status=0"]))

      #expect(response.text == "ok" && response.trailers == ["x-sum": "1", "x-two": "2"])
      #expect(empty.text == "" && empty.trailers == ["grpc-status": "0"])
    }

    @Test(arguments: Lane.engines) func `truncated trailers fail the request`(
      _ lane: Lane
    ) async throws {
      for pause in [0, 30] {
        let server = try SteppedServer()
        let answer = Task {
          try await server.request()
          let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
          for piece in [head + "5\r\nhello\r\n", "0\r\nX-S", "um: 5\r\n"] {
            try await server.send(piece)
            try await Task.sleep(for: .milliseconds(pause))
          }
          server.close()
        }
        let error = await #expect(throws: HTTPError.self) { try await lane.client().get(server.target) }
        #expect(error?.kind == .connectionLost)
        try await answer.value
      }
    }

    @Test(arguments: Lane.engines) func `TE: trailers adds TE to the Connection field`(_ lane: Lane) async throws {
      let server = try MockServer(.ok("x"))
      let client = lane.client()

      _ = try await client.get(RequestTarget(server.url), headers: ["TE": "trailers"])
      _ = try await client.get(RequestTarget(server.url), headers: ["TE": "trailers", "Connection": "close"])

      #expect(server.requests.map { $0.headers(named: "TE") } == [["trailers"], ["trailers"]])
      #expect(server.requests.map { $0.headers(named: "Connection") } == [["TE"], ["close, TE"]])
    }

    @Test(.needsHTTP2Server, arguments: Lane.engines) func `TE: trailers is sent without Connection over HTTP/2`(
      _ lane: Lane
    ) async throws {
      let authority = try await CertificateAuthority()
      let server = try await HTTP2Server(try await authority.identity())
      let client = lane.client { [root = authority.root] in $0.tls = .customRoots(pem: root) }

      let options: [RequestOptions] = [.httpVersion(.automatic), .httpVersion(.http2)]
      for (number, options) in options.enumerated() {
        let target = server.target(number, ["head", "trailer:grpc-status=0"])
        let response = try await client.get(target, headers: ["TE": "trailers"], options: options)
        #expect(response.httpVersion == .http2 && response.trailers == ["grpc-status": "0"])
        #expect(server.fields(of: number) == ["te: trailers"])
      }
      _ = try await client.get(server.target(7, ["head", "last:ok"]))
      #expect(server.fields(of: 7) == [])

      let plain = try await HTTP2Server()
      _ = try await client.get(
        plain.target(1, ["head", "last:ok"]), headers: ["TE": "trailers"], options: .httpVersion(.http2PriorKnowledge))
      #expect(plain.fields(of: 1) == ["te: trailers"])
    }

    // MARK: Requests

    @Test(arguments: Lane.engines) func `request trailers are computed after the body`(_ lane: Lane) async throws {
      let server = try MockServer(.ok("x"))
      let pieces = UploadPieces(Data(repeating: 1, count: 100_000), count: 7)
      let made = Locked<[Int]>([])
      let body = HTTPBody.stream(pieces).withTrailers(["X-Count", "X-Unused"]) {
        made.withLock { $0.append(pieces.takenCount) }
        return ["X-Count": "\(pieces.takenCount)", "x-count": " two\t"]
      }

      _ = try await lane.client().send(Self.request(server, body))

      let arrived = try #require(server.requests.first)
      #expect(arrived.body.count == 700_000)
      #expect(arrived.headers(named: "Trailer") == ["X-Count, X-Unused"])
      #expect(arrived.headers(named: "Content-Length").isEmpty)
      #expect(arrived.trailers.map { "\($0.name)=\($0.value)" } == ["X-Count=7", "x-count=two"])
      #expect(made.withLock { $0 } == [7])
    }

    @Test(arguments: Lane.engines) func `every kind of body can have its own trailers`(_ lane: Lane) async throws {
      let server = try MockServer(.ok("x"))
      let client = lane.client()
      let folder = try TemporaryFolder()
      try folder.write("file", to: "a")
      let bodies: [HTTPBody] = [
        .text("text"), .data(Data()), .file(URL(filePath: folder.path("a"))),
        .concatenating([.text("one"), .text("two")]),
        .stream(UploadPieces(Data("once".utf8), count: 1)),
        .stream(UploadPieces(Data("sized".utf8), count: 2), length: 10),
      ]

      for (number, body) in bodies.enumerated() {
        _ = try await client.send(Self.request(server, body.withTrailers(["X-Number"]) { ["X-Number": "\(number)"] }))
        // The next requests use the same connection, with and without chunks.
        _ = try await client.send(
          Self.request(server, .stream(UploadPieces(Data(repeating: 2, count: 70_000), count: 3))))
        _ = try await client.send(Self.request(server, .text("plain")))
      }

      let texts = ["text", "", "file", "onetwo", "once", "sizedsized"]
      for (number, text) in texts.enumerated() {
        let requests = server.requests[(number * 3)..<(number * 3 + 3)].map { $0 }
        #expect(requests[0].text == text)
        #expect(requests.map { $0.trailers.map(\.value) } == [["\(number)"], [], []])
        #expect(requests[1].body == Data(repeating: 2, count: 210_000) && requests[2].text == "plain")
      }
      #expect(server.malformed.isEmpty && server.requests.count == 18)
    }

    struct Failure: Error, Equatable {}

    @Test(arguments: Lane.engines) func `invalid request trailers fail the call and leave the request incomplete`(
      _ lane: Lane
    ) async throws {
      let server = try MockServer(.ok("x"))
      let client = lane.client()

      let own = HTTPBody.text("body").withTrailers(["X-A"]) { throw Failure() }
      await #expect(throws: Failure()) { try await client.send(Self.request(server, own)) }
      for fields in [["X-B": "1"], ["X-A": "a\r\nb"], ["X-A": String(repeating: "a", count: 70_000)]] as [HTTPHeaders] {
        let body = HTTPBody.text("body").withTrailers(["X-A"]) { fields }
        let error = await #expect(throws: HTTPError.self) { try await client.send(Self.request(server, body)) }
        #expect(error?.kind == .invalidRequest && error?.mayHaveReachedServer == true)
      }

      #expect(try await client.get(RequestTarget(server.url)).text == "x")
      #expect(server.requests.filter(\.isComplete).map(\.method) == ["GET"])
    }

    @Test(.needs(.http2), .needs(.openssl, .nginx), arguments: Lane.engines)
    func `requests with trailers use HTTP/1.1 even if the server supports HTTP/2`(
      _ lane: Lane
    ) async throws {
      let authority = try await CertificateAuthority()
      let server = try await NginxServer(
        try await authority.identity(), isHTTP2: true, "add_header X-Version $server_protocol;")
      let client = lane.client { [root = authority.root] in $0.tls = .customRoots(pem: root) }
      let body = HTTPBody.text("x").withTrailers(["X-A"]) { ["X-A": "1"] }

      var versions: [String?] = []
      for body in [nil, body, nil, body] {
        let request = HTTPRequest(.post, RequestTarget(server.url), body: body)
        versions.append(try await client.send(request).headers["X-Version"])
      }
      let refused = await #expect(throws: HTTPError.self) {
        try await client.post(RequestTarget(server.url), body: body, options: .httpVersion(.http2))
      }

      #expect(versions == ["HTTP/2.0", "HTTP/1.1", "HTTP/2.0", "HTTP/1.1"])
      #expect(refused?.kind == .unsupported)
    }
  }
#endif
