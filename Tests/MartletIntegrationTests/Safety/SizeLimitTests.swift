#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// The size limits of requests and of endless responses.
  @Suite(.ownThreads, .hangLimit) struct SizeLimitTests {
    /// Only the size limits end such a request.
    private static let settings = ClientSetting { $0.options = .timeout(.unlimited) }

    // MARK: Requests

    @Test(arguments: Lane.engines)
    func `rejects too many fields, too large fields and too long URLs`(lane: Lane) async throws {
      let server = try MockServer(.ok("x"))
      let client = lane.client()
      let url = RequestTarget(server.url("/"))
      let value = String(repeating: "v", count: 200)
      // The client adds its own fields, so these exceed the limit.
      let many = HTTPHeaders((0..<1000).map { HTTPHeaders.Field(name: "X-\($0)", value: "v") })
      let large = HTTPHeaders((0..<1400).map { HTTPHeaders.Field(name: "X", value: "\(value)\($0)") })
      let path = String(repeating: "a", count: 64 << 10)

      for (request, words) in [
        (HTTPRequest.get(url, headers: many), "header fields; at most 1000"),
        (.get(url, headers: ["X-A": String(repeating: "v", count: 256 << 10)]), "at most 262144"),
        (.get(url, headers: large), "header fields; at most 1000"),
        (.get(RequestTarget(server.url + "/" + path)), "the URL has 65"),
      ] {
        let error = await #expect(throws: HTTPError.self) { try await client.send(request) }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.message.contains(words) == true, "\(error.map { $0.message } ?? "none")")
      }
      #expect(server.connectionCount == 0)
    }

    @Test(.needs(.largeHeads), arguments: Lane.engines)
    func `sends requests just below the size limits`(lane: Lane) async throws {
      let server = try MockServer(.ok("x"))
      let client = lane.client()
      let many = HTTPHeaders((0..<990).map { HTTPHeaders.Field(name: "X-\($0)", value: "v") })
      let large = HTTPHeaders(
        (0..<255).map { HTTPHeaders.Field(name: "X", value: String(repeating: "v", count: 1000 + $0 % 2)) })
      let path = String(repeating: "a", count: (64 << 10) - server.url.utf8.count - 1)

      #expect(try await client.get(RequestTarget(server.url), headers: many).text == "x")
      #expect(try await client.get(RequestTarget(server.url), headers: large).text == "x")
      #expect(try await client.get(RequestTarget(server.url + "/" + path)).text == "x")

      #expect(server.requests.map { $0.headers.count > 980 } == [true, false, false])
      #expect(server.requests.map { $0.headers(named: "X").count } == [0, 255, 0])
      #expect(server.requests.last?.target == "/" + path)
      #expect(server.malformed.isEmpty)
    }

    // MARK: Responses

    /// A response that never ends.
    struct Endless: Sendable, CustomTestStringConvertible {
      var testDescription: String
      var start: String
      var rest: String

      private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

      static let all = [
        Endless(testDescription: "1xx", start: "", rest: "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n"),
        Endless(testDescription: "fields", start: "HTTP/1.1 200 OK\r\n", rest: "A: b\r\n"),
        Endless(testDescription: "a field", start: "HTTP/1.1 200 OK\r\nA: ", rest: String(repeating: "b", count: 1000)),
        Endless(testDescription: "a folded field", start: "HTTP/1.1 200 OK\r\nA: b\r\n", rest: " \r\n b\r\n"),
        Endless(testDescription: "a status line", start: "HTTP/1.1 200 ", rest: "OK OK OK OK "),
        Endless(testDescription: "trailers", start: chunked + "2\r\nok\r\n0\r\n", rest: "A: b\r\n"),
        Endless(testDescription: "a chunk extension", start: chunked + "2;", rest: String(repeating: "b", count: 1000)),
        Endless(
          testDescription: "chunk extensions", start: chunked,
          rest: "1;" + String(repeating: "b", count: 4000) + "\r\nx\r\n"),
        Endless(testDescription: "zeros of a chunk size", start: chunked, rest: String(repeating: "0", count: 1000)),
        Endless(
          testDescription: "an extension of the last chunk", start: chunked + "2\r\nok\r\n0;",
          rest: String(repeating: "b", count: 1000)),
      ]
    }

    /// Under the sanitizer, each case takes 15 seconds, so a few are enough; all take the same path.
    private static let endless = isSanitized ? Array(Endless.all.prefix(2)) : Endless.all
    /// The responses whose memory use is measured in every run.
    private static let measured = endless.enumerated().filter { Stress.isOn || $0.offset % 3 == 0 }.map(\.element)
    private static let others = endless.enumerated().filter { Stress.isOn || $0.offset % 3 != 0 }.map(\.element)

    private static func expectEnd(of endless: Endless, _ lane: Lane) async throws {
      // More bytes than any test can read.
      let pattern = Data(String(repeating: endless.rest, count: 1 + 16_000 / endless.rest.utf8.count).utf8)
      let server = try MockServer(.steps([.text(endless.start), .repeating(pattern, count: 1 << 20)]))
      defer { server.stop() }

      let error = await #expect(throws: HTTPError.self) {
        try await lane.client(Self.settings).get(RequestTarget(server.url))
      }

      #expect(error?.kind == .protocolViolation, "\(endless.testDescription): \(error.map { "\($0)" } ?? "none")")
      #expect(await server.waitForOpenConnections(atMost: 0), "\(endless.testDescription)")
    }

    @Test(arguments: Lane.engines, others)
    func `an endless response fails with protocolViolation`(lane: Lane, endless: Endless) async throws {
      try await Self.expectEnd(of: endless, lane)
    }

    @Test(.needs(.proc), arguments: Lane.engines) func `an endless response fails and uses bounded memory`(lane: Lane)
      async
    {
      await #expect(processExitsWith: .success) { [lane = lane as Lane] in
        _ = try? await lane.client(Self.settings).get(
          RequestTarget("http://127.0.0.1:\(raw: "\(try MockServer.refusedPort())")/"))
        for endless in Self.measured {
          let more = try await ProcessFacts.peakGrowth { try await Self.expectEnd(of: endless, lane) }
          #expect(more < 100 << 20, "\(endless.testDescription)")
        }
      }
    }

    @Test(arguments: Lane.engines)
    func `accepts a body of small chunks with small extensions`(lane: Lane) async throws {
      // 30 bytes for each byte of the body, and much more than 1 MiB in total.
      let pattern = Data("1;extension=abcdefghijkl\r\nx\r\n".utf8)
      let count = 100_000
      let server = try MockServer(
        .steps([
          .text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), .repeating(pattern, count: count),
          .text("0;last\r\n\r\n"),
        ]))
      let response = try await lane.client(Self.settings).get(RequestTarget(server.url))
      #expect(response.body == Data(repeating: UInt8(ascii: "x"), count: count))
    }

    @Test(arguments: Lane.engines)
    func `stores at most 50 cookies of one response`(lane: Lane) async throws {
      let lines = (0..<900).map { "Set-Cookie: c\($0)=v\r\n" }.joined()
      let server = try MockServer(.raw("HTTP/1.1 200 OK\r\n\(lines)Content-Length: 0\r\n\r\n"))
      let client = lane.client()

      _ = try await client.get(RequestTarget(server.url))

      #expect(await client.cookies.all.count == 50)
    }
  }
#endif
