#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import CurlEngine
  @testable import Martlet

  /// Proxies that send arbitrary or endless responses to CONNECT, over both transports and without a timeout.
  @Suite(.ownThreads, .hangLimit) struct HostileProxyTests {
    /// A response to CONNECT.
    struct Answer: Sendable, CustomTestStringConvertible {
      var testDescription: String
      var start: String
      /// The bytes that follow endlessly.
      var rest: Data
      var kind: HTTPError.Kind

      init(_ name: String, _ start: String, _ rest: String, _ kind: HTTPError.Kind) {
        self.init(name, start, Data(rest.utf8), kind)
      }

      init(_ name: String, _ start: String, _ rest: Data, _ kind: HTTPError.Kind) {
        testDescription = name
        self.start = start
        self.rest = rest
        self.kind = kind
      }

      private static let asking = "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"r\"\r\n"
      private static let length = "Content-Length: 1000000000000\r\n\r\n"
      private static let chunks = "Transfer-Encoding: chunked\r\n\r\n"
      private static let text = String(repeating: "b", count: 1000)

      static let all = [
        Answer("a body", asking + length, text, .authenticationFailed),
        Answer("a body of no length", asking + "\r\n", text, .authenticationFailed),
        Answer("chunks", asking + chunks, "4\r\nabcd\r\n", .authenticationFailed),
        Answer("a chunk extension", asking + chunks + "1;", text, .authenticationFailed),
        Answer("trailers", asking + chunks + "0\r\n", "A: b\r\n", .authenticationFailed),
        Answer("the body of a 401", "HTTP/1.1 401 No\r\n" + length, text, .authenticationFailed),
        Answer("the body of a 502", "HTTP/1.1 502 No\r\n" + length, text, .cannotConnect),
        Answer("the body of a redirect", "HTTP/1.1 302 No\r\nLocation: /\r\n" + length, text, .cannotConnect),
        // libcurl has parsed the status before it rejects the malformed head.
        Answer("a body after a bad line", "HTTP/1.1 502 No\r\nA B: c\r\n" + length, text, .cannotConnect),
        Answer("fields", asking, "A: b\r\n", .authenticationFailed),
        Answer("fields of a yes", "HTTP/1.1 200 Yes\r\n", "A: b\r\n", .cannotConnect),
        Answer("a field", "HTTP/1.1 200 Yes\r\nA: ", text, .cannotConnect),
        Answer("a folded field", "HTTP/1.1 200 Yes\r\nA: b\r\n", " \r\n b\r\n", .cannotConnect),
        Answer("a status line", "HTTP/1.1 200 ", "OK OK ", .cannotConnect),
        Answer("1xx", "", "HTTP/1.1 100 Continue\r\n\r\n", .cannotConnect),
        Answer("1xx with fields", "", "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n", .cannotConnect),
        Answer("lines without a name", "HTTP/1.1 200 Yes\r\n", ": b\r\n", .cannotConnect),
        Answer("any octets", "", Data((0...255).map(UInt8.init)), .cannotConnect),
        Answer("octets without an end of a line", "", Data([0, 0xFF, 0x20, 0x80]), .cannotConnect),
        Answer("lines of nothing", "", "\r\n", .cannotConnect),
        Answer("another protocol", "SSH-2.0-OpenSSH_9.2\r\n", "\u{0}\u{14}\n", .cannotConnect),
        Answer("TLS in clear", "\u{16}\u{3}\u{1}\u{2}", "\u{16}\u{3}\u{3}", .cannotConnect),
      ]
    }

    private static func endless(_ answer: Answer) throws -> MockServer {
      // 16 MiB would take libcurl about as many seconds if nothing stopped it.
      let pattern = Data((0..<(1 + 16_000 / answer.rest.count)).map { _ in answer.rest }.joined())
      return try MockServer(.steps([.text(answer.start), .repeating(pattern, count: 1 << 10)]))
    }

    /// Checks how one of these responses ends while another request goes to a server.
    private static func expectEnd(of answer: Answer, _ lane: Lane) async throws {
      let proxy = try Self.endless(answer)
      let direct = try MockServer(.ok("direct"))
      defer { proxy.stop() }
      let client = lane.client {
        $0.proxy = .resolver { $0.host == "a.example" ? Proxy(proxy.url, user: "ada", password: "secret") : nil }
        $0.options = .timeout(.unlimited)
      }
      _ = try await client.get(RequestTarget(direct.url))
      let refused = Task { try await client.get("https://a.example/") }

      #expect(await proxy.waitForRequests(1))
      let other = try await client.get(RequestTarget(direct.url))
      let error = await #expect(throws: HTTPError.self) { try await refused.joined }

      let name = answer.testDescription
      #expect(other.text == "direct", "\(name)")
      // Since 8.21, libcurl itself reports a NUL byte.
      let isNUL = error?.kind == .protocolViolation && error?.message.contains("Nul byte") == true
      #expect(
        (error?.kind == answer.kind || isNUL) && error?.phase == .connecting,
        "\(name): \(error.map { "\($0)" } ?? "none")")
      #expect(error?.mayHaveReachedServer == false, "\(name)")
      #expect(await proxy.waitForOpenConnections(atMost: 0), "\(name)")
      #expect(proxy.requests.count == 1, "\(name)")
    }

    @Test(arguments: Lane.engines, Answer.all)
    func `an endless CONNECT response fails and does not block other requests`(lane: Lane, answer: Answer) async throws
    {
      try await Self.expectEnd(of: answer, lane)
    }

    @Test(.needs(.proc), arguments: Lane.engines) func `an endless CONNECT response uses bounded memory`(lane: Lane)
      async
    {
      await #expect(processExitsWith: .success) { [lane = lane as Lane] in
        try await Self.expectEnd(of: Answer.all[0], lane)
        // Covers every fourth response, or all under stress.
        for (number, answer) in Answer.all.enumerated() where Stress.isOn || number % 4 == 1 {
          let more = try await ProcessFacts.peakGrowth { try await Self.expectEnd(of: answer, lane) }
          #expect(isSanitized || more < 50 << 20, "\(answer.testDescription)")
        }
      }
    }

    @Test(arguments: Lane.engines, ["http", "https"])
    func `sends credentials without waiting for the end of an endless 407 body`(lane: Lane, scheme: String) async throws
    {
      let proxy = try MockServer { request in
        guard request.header("Proxy-Authorization") == nil else { return .status(502) }
        let head = "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"r\"\r\nContent-Length: 1000000000000\r\n\r\n"
        return .steps([.text(head), .repeating(Data(repeating: 0x62, count: 16_000), count: 1 << 20)])
      }
      defer { proxy.stop() }
      let client = lane.client {
        $0.proxy = .proxy(Proxy(proxy.url))
        $0.authenticators[.proxy(proxy.url)] = .password(user: "ada", password: "secret")
        $0.options = .timeout(.unlimited)
      }

      let error = await #expect(throws: HTTPError.self) {
        try await client.get(RequestTarget("\(raw: scheme)://a.example/"))
      }

      #expect(error?.kind == (scheme == "http" ? .status : .cannotConnect))
      #expect(proxy.requests.map { $0.header("Proxy-Authorization") != nil } == [false, true])
    }

    @Test(arguments: Lane.engines) func `the connect timeout ends a slow CONNECT response`(lane: Lane) async throws {
      let start = "HTTP/1.1 200 Yes\r\n"
      let proxy = try MockServer(
        .steps([.text(start), .drip(Data(repeating: 0x41, count: 10_000), chunk: 1, every: .milliseconds(20))]))
      defer { proxy.stop() }
      let client = lane.client {
        $0.proxy = .proxy(Proxy(proxy.url))
        $0.options = .timeout(TimeoutPolicy(connect: .milliseconds(200), idle: nil, total: nil))
      }

      let error = await #expect(throws: HTTPError.self) { try await client.get("https://a.example/") }

      #expect(error?.kind == .timedOut && error?.phase == .connecting)
      #expect(await proxy.waitForOpenConnections(atMost: 0))
    }

    @Test func `limits the number of lines and the size of a CONNECT response head`() {
      // libcurl's own limits apply later, and only in some versions.
      var many = CurlConnectAnswer()
      var long = CurlConnectAnswer()
      func read(_ answer: inout CurlConnectAnswer, _ line: String) {
        Array(line.utf8).withUnsafeBufferPointer { _ = answer.read($0) }
      }
      read(&many, "HTTP/1.1 200 Yes\r\n")
      read(&long, "malformed\r\n")

      for _ in 0..<999 { read(&many, "A: b\r\n") }
      for _ in 0..<255 { read(&long, String(repeating: "x", count: 1022) + "\r\n") }
      #expect(!many.isTooLarge && !long.isTooLarge)
      read(&many, "A: b\r\n")
      read(&long, String(repeating: "x", count: 1022) + "\r\n")

      #expect(many.isTooLarge && long.isTooLarge)
    }

    // MARK: Endless challenges

    @Test(arguments: Lane.engines, ["http", "https"])
    func `stops after repeated stale nonces`(lane: Lane, scheme: String) async throws {
      let turns = Turns()
      let proxy = try MockServer { _ in
        let challenge = "Digest realm=\"r\", nonce=\"n\(turns.next())\", qop=\"auth\", stale=true"
        return .status(407, headers: ["Proxy-Authenticate": challenge])
      }
      let asked = Shared(0)
      let url = RequestTarget("\(raw: scheme)://a.example/")
      let own = lane.client { $0.proxy = .proxy(Proxy(proxy.url, user: "ada", password: "secret")) }
      let fixed = lane.client {
        $0.proxy = .proxy(Proxy(proxy.url))
        $0.authenticators[.proxy(proxy.url)] = .password(user: "ada", password: "secret")
      }
      let asking = lane.client {
        $0.proxy = .proxy(Proxy(proxy.url))
        $0.authenticators[.everywhere] = .ask { _ in
          asked.withLock { $0 += 1 }
          return .user("ada", password: "secret\(asked.withLock { $0 })")
        }
      }

      for client in [own, fixed, asking] {
        proxy.forgetRequests()
        let error = await #expect(throws: HTTPError.self) { try await client.get(url) }
        #expect(error?.kind == .authenticationFailed)
        #expect((1...4).contains(proxy.requests.count), "\(proxy.requests.count)")
      }
      #expect((1...4).contains(asked.withLock { $0 }))
    }
  }
#endif
