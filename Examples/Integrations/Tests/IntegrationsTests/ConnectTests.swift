#if os(Linux)
  import Foundation
  import Integrations
  import Martlet
  import MartletTesting
  import Testing

  @Suite(.timeLimit(.minutes(2))) struct ConnectTests {
    private typealias Frame = ConnectServer.Frame

    private static let greet = "greet.v1.GreetService/Greet"

    private static func greeter(
      _ server: MockServer, codec: ConnectClient.Codec = .json,
      _ change: (inout HTTPClient.Configuration) -> Void = { _ in }
    ) throws -> ConnectClient {
      ConnectClient(HTTPClient(change), baseURL: try #require(URL(string: server.url("/api"))), codec: codec)
    }

    private static func greeter(_ response: MockResponse) throws -> (ConnectClient, MockServer) {
      let server = try MockServer(response)
      return (try greeter(server), server)
    }

    private static func list(_ texts: [String]) -> AsyncStream<Data> {
      AsyncStream { continuation in
        for text in texts { continuation.yield(Data(text.utf8)) }
        continuation.finish()
      }
    }

    @Test func `a unary RPC sends and receives JSON`() async throws {
      let server = try MockServer(answering: ConnectServer.respond)

      let response = try await Self.greeter(server).unary(
        Self.greet, Data(#"{"name":"Ada"}"#.utf8), headers: ["X-Shard": "7", "content-type": "text/plain"])

      #expect(response.message == Data(#"{"name":"Ada"}"#.utf8))
      #expect(response.headers["X-Leading"] == "a" && !response.headers.contains { $0.name.hasPrefix("Trailer-") })
      #expect(response.trailers[all: "x-cost"] == ["1", "2"])
      let request = try #require(server.requests.first)
      #expect(request.method == "POST" && request.header("X-Shard") == "7")
      #expect(request.headers(named: "Content-Type") == ["application/json"])
      // The client's total limit is two minutes.
      #expect(request.header("Connect-Timeout-Ms").flatMap { Int($0) }.map { 60_000..<120_000 ~= $0 } == true)
    }

    @Test(arguments: [Data(), Data([0, 0xFF, 0x0A])]) func `a message of Protobuf is bytes`(message: Data) async throws
    {
      let server = try MockServer(answering: ConnectServer.respond)

      let response = try await Self.greeter(server, codec: .proto).unary(Self.greet, message)

      #expect(response.message == message)
      #expect(server.requests.first?.header("Content-Type") == "application/proto")
    }

    @Test func `an RPC without side effects is a GET`() async throws {
      let server = try MockServer(answering: ConnectServer.respond)
      let json = Data(#"{"a": "+&ü"}"#.utf8)

      var greeter = try Self.greeter(server)
      _ = try await greeter.unary(Self.greet, json, isSideEffectFree: true)
      let proto = try Self.greeter(server, codec: .proto)
      let error = await #expect(throws: ConnectError.self) {
        try await proto.unary(Self.greet, Data([0xFB, 0xFF, 0xFE, 0]), isSideEffectFree: true)
      }
      greeter.maximumURLBytes = 100
      _ = try await greeter.unary(Self.greet, json, isSideEffectFree: true)

      let path = "/api/greet.v1.GreetService/Greet"
      #expect(
        server.requests.map { "\($0.method) \($0.target)" } == [
          "GET \(path)?connect=v1&encoding=json&message=%7B%22a%22%3A%20%22%2B%26%C3%BC%22%7D",
          "GET \(path)?connect=v1&base64=1&encoding=proto&message=-__-AA", "POST \(path)",
        ])
      // The server always responds to a GET with JSON.
      #expect(error?.code == .internal)
      #expect(server.requests[0].header("Content-Type") == nil)
    }

    @Test func `a repeated RPC sends the time that is left`() async throws {
      let server = try MockServer(script: [
        MockResponse.status(503).delayed(by: .milliseconds(50)),
        .data(Data("{}".utf8), headers: ["Content-Type": "application/json"]),
      ])
      let greeter = try Self.greeter(server) { $0.retry = .backoff(attempts: 2, initialDelay: .milliseconds(1)) }

      try await withDeadline(.seconds(30)) {
        _ = try await greeter.unary(Self.greet, Data(), isSideEffectFree: true)
      }

      let times = server.requests.compactMap { $0.header("Connect-Timeout-Ms").flatMap { Int($0) } }
      #expect(times.count == 2 && times.allSatisfy { 0 < $0 && $0 < 30_000 } && times[0] > times[1])
    }

    @Test func `an RPC ends at its deadline`() async throws {
      let (greeter, server) = try Self.greeter(.hang)

      let error = await #expect(throws: HTTPError.self) {
        try await greeter.unary(Self.greet, Data(), options: .timeout(.seconds(1)))
      }

      #expect(error.map { ConnectError.Code($0) } == .deadlineExceeded)
      #expect(server.requests.first?.header("Connect-Timeout-Ms") != nil)
    }

    @Test(
      arguments: [
        (403, "application/json", #"{"code":"not_found","message":"no"}"#, .notFound, "no"),
        (401, "application/json", #"{"code":null,"message":"no"}"#, .unauthenticated, "no"),
        (429, "application/json", #"{"code":"new","message":"no"}"#, .unavailable, "no"),
        (400, "application/json", "null", .internal, nil), (404, "text/html", "<html>", .unimplemented, nil),
        (403, "application/proto", #"{"code":"not_found"}"#, .permissionDenied, nil),
        (502, "application/json", "{", .unavailable, nil), (418, "application/json", "", .unknown, nil),
        (200, "image/jpeg", "", .unknown, "the response has the type 'image/jpeg', not 'application/json'"),
        (200, "application/xml", "", .internal, "the response has the type 'application/xml', not 'application/json'"),
      ] as [(Int, String, String, ConnectError.Code, String?)])
    func `a response that is not a success is an error with a code`(
      status: Int, type: String, body: String, code: ConnectError.Code, message: String?
    ) async throws {
      let (greeter, server) = try Self.greeter(
        .data(Data(body.utf8), status: status, headers: ["Content-Type": type, "X-A": "1", "Trailer-X-B": "2"]))

      let error = await #expect(throws: ConnectError.self) { try await greeter.unary(Self.greet, Data()) }

      #expect(error?.code == code && error?.message == message)
      #expect(error?.headers["X-A"] == "1" && error?.trailers["X-B"] == "2" && server.requests.count == 1)
    }

    @Test func `an error has details with or without padding`() async throws {
      let details = """
        [{"type": "a.B", "value": "CgIIPA", "debug": "x"}, {"type": "a.C", "value": "CgIIPA=="},
         {"type": "a.D"}, {"value": "AA"}, {"type": "a.E", "value": "?"}, 7]
        """
      let (greeter, server) = try Self.greeter(
        .json(#"{"code": "unavailable", "details": \#(details)}"#, status: 503))

      let error = await #expect(throws: ConnectError.self) { try await greeter.unary(Self.greet, Data()) }

      let value = Data([0x0A, 2, 8, 0x3C])
      #expect(error?.details.map(\.type) == ["a.B", "a.C"] && error?.details.map(\.value) == [value, value])
      #expect(error.map { "\($0)" } == "unavailable" && server.requests.count == 1)
    }

    @Test func `a message that is too large is an error`() async throws {
      let (one, first) = try Self.greeter(.json(String(repeating: "x", count: 101)))
      let (two, second) = try Self.greeter(ConnectServer.stream(Data([0, 0xFF, 0xFF, 0xFF, 0xFF, 1])))
      for var greeter in [one, two] {
        greeter.maximumMessageBytes = 100
        let error = await #expect(throws: ConnectError.self) {
          if greeter.client === one.client {
            _ = try await greeter.unary(Self.greet, Data())
          } else {
            for try await _ in try await greeter.serverStream(Self.greet, Data()) {}
          }
        }
        #expect(error?.code == .resourceExhausted)
      }
      #expect(first.requests.count == 1 && second.requests.count == 1)
    }

    @Test func `a server stream delivers messages from chunks of any size`() async throws {
      let server = try MockServer(answering: ConnectServer.respond)
      let stream = try await Self.greeter(server).serverStream("greet.v1.GreetService/GreetMany", Data("40".utf8))

      var received: [String] = []
      for try await message in stream {
        #expect(stream.trailers.isEmpty)
        received.append(String(decoding: message, as: UTF8.self))
      }

      #expect(received == (0..<40).map { "\($0)" } && stream.trailers["X-Cost"] == "3")
      // A stream that was read to its end leaves its connection for the next RPC.
      _ = try await Self.greeter(server).unary(Self.greet, Data("{}".utf8))
      let request = try #require(server.requests.first)
      #expect(ConnectServer.frames(in: request.body) == [Frame(text: "40")])
      #expect(request.header("Connect-Timeout-Ms") == nil)
    }

    @Test func `messages arrive before the stream ends, and releasing it ends the RPC`() async throws {
      let head = "HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\nContent-Length: 1000\r\n\r\n"
      let (greeter, server) = try Self.greeter(.steps([.text(head), .bytes(Frame(text: "1").data), .hang]))
      do {
        var messages = try await greeter.serverStream(Self.greet, Data()).makeAsyncIterator()
        #expect(try await messages.next() == Data("1".utf8))
      }

      #expect(await server.wait { $0.disconnects == 1 })
    }

    @Test func `a client stream sends messages and receives one`() async throws {
      let server = try MockServer(answering: ConnectServer.respond)

      let response = try await Self.greeter(server).clientStream(
        "greet.v1.GreetService/GreetGroup", Self.list(["Ada", "", "Grace"]))

      #expect(response.message == Data("0Ada 0 0Grace".utf8) && response.trailers[all: "x-cost"] == ["1", "2"])
      #expect(response.headers["X-Leading"] == "a")
      #expect(server.requests.first?.header("Transfer-Encoding") == "chunked")
    }

    @Test func `streams run in both directions at the same time`() async throws {
      let head = "HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\nTransfer-Encoding: chunked\r\n\r\n"
      let (greeter, server) = try Self.greeter(MockResponse.steps([.text(head), .echoChunks]).withoutReadingBody())
      let (texts, continuation) = AsyncStream.makeStream(of: Data.self)

      var messages = try await greeter.bidirectionalStream(Self.greet, texts).makeAsyncIterator()
      for number in 0..<20 {
        continuation.yield(Data("\(number)".utf8))
        #expect(try await messages.next() == Data("\(number)".utf8))
      }
      continuation.finish()

      // The server repeats messages, but sends no end of the stream.
      let error = await #expect(throws: ConnectError.self) { try await messages.next() }
      #expect(error?.code == .internal && server.requests.count == 1)
      #expect(try await messages.next() == nil)
    }

    @Test(
      arguments: [
        ([Frame(text: "a"), .end(#"{"error":{"code":"aborted","message":"no"},"metadata":{"x":["1"]}}"#)], .aborted),
        ([Frame(text: "a"), .end(#"{"error":{"code":"new"}}"#)], .unknown), ([Frame(text: "a")], .internal),
        ([Frame(text: "a"), .end("[]")], .internal), ([Frame(text: "a"), .end("{")], .internal),
        ([Frame(text: "a"), .end(), Frame(text: "b")], .internal), ([Frame(text: "a"), .end(), .end()], .internal),
        ([Frame(text: "a"), Frame(flags: 1, text: "b"), .end()], .internal),
        ([Frame(text: "a"), Frame(flags: 3, text: "{}")], .internal),
        ([Frame(text: "a"), Frame(flags: 0x80, text: "b"), .end()], .internal),
        ([Frame(text: "a"), .end(#"{"error":null}"#)], nil), ([Frame(text: "a"), .end("")], nil),
      ] as [([ConnectServer.Frame], ConnectError.Code?)])
    func `the end of a stream decides about the RPC`(
      frames: [ConnectServer.Frame], code: ConnectError.Code?
    ) async throws {
      let (greeter, server) = try Self.greeter(ConnectServer.stream(frames))
      let stream = try await greeter.serverStream(Self.greet, Data())
      var messages = stream.makeAsyncIterator()

      #expect(try await messages.next() == Data("a".utf8))
      do {
        #expect(try await messages.next() == nil && code == nil)
      } catch let error as ConnectError {
        #expect(error.code == code && error.headers["X-Leading"] == "a")
        #expect(error.code != .aborted || error.message == "no" && error.trailers["X"] == "1")
      }
      #expect(try await messages.next() == nil && server.requests.count == 1)
    }

    @Test(arguments: [
      [Frame.end()], [Frame(text: "a"), Frame(text: "b"), .end()],
    ]) func `a client stream has exactly one response`(frames: [ConnectServer.Frame]) async throws {
      let (greeter, server) = try Self.greeter(ConnectServer.stream(frames))

      let error = await #expect(throws: ConnectError.self) {
        try await greeter.clientStream(Self.greet, Self.list(["x"]))
      }

      #expect(error?.code == .unimplemented && server.requests.count == 1)
    }

    @Test func `a truncated message and another type are errors`() async throws {
      let cases: [(MockResponse, ConnectError.Code)] = [
        (ConnectServer.stream(Frame(text: "abc").data.dropLast()), .internal),
        (ConnectServer.stream(Data([0, 0, 0])), .internal), (ConnectServer.stream(Data()), .internal),
        (ConnectServer.stream(Data(), type: "application/connect+proto"), .internal),
        (ConnectServer.stream(Data(), type: "text/html"), .unknown),
        (.json(#"{"code":"data_loss"}"#, status: 500), .dataLoss), (.status(415), .unknown),
      ]
      for (response, code) in cases {
        let (greeter, server) = try Self.greeter(response)
        let error = await #expect(throws: ConnectError.self) {
          for try await _ in try await greeter.serverStream(Self.greet, Data()) {}
        }
        #expect(error?.code == code && server.requests.count == 1)
      }
    }

    @Test func `cancelling the task ends a stream`() async throws {
      let (greeter, server) = try Self.greeter(.hang)
      let task = Task { _ = try await greeter.serverStream(Self.greet, Data()) }
      #expect(await server.waitForRequests(1))

      task.cancel()

      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(await server.wait { $0.disconnects == 1 })
    }

    @Test func `a procedure cannot leave the base URL, which has no query`() async throws {
      let server = try MockServer(.ok())
      let url = try #require(URL(string: server.url("/api?key=1")))
      for isSideEffectFree in [false, true] {
        let left = await #expect(throws: HTTPError.self) {
          try await Self.greeter(server).unary("../x", Data(), isSideEffectFree: isSideEffectFree)
        }
        let query = await #expect(throws: HTTPError.self) {
          try await ConnectClient(HTTPClient(), baseURL: url).unary(
            Self.greet, Data(), isSideEffectFree: isSideEffectFree)
        }
        #expect(left?.kind == .invalidRequest && query?.kind == .invalidRequest)
      }
      #expect(server.requests.isEmpty)
    }
  }
#endif
