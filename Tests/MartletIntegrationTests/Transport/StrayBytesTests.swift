#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// Bytes that arrive on a connection without a running request are not a response.
  @Suite(.needs(.openssl, .python), .hangLimit) struct StrayBytesTests {
    /// A request whose response is followed by something.
    struct Case: CustomTestStringConvertible {
      var lane: Lane
      var isSecure: Bool
      var status: Int
      var method: HTTPMethod
      var after: WireServer.After

      var testDescription: String {
        "\(lane), \(isSecure ? "https" : "http"), \(method) \(status), \(after.rawValue)"
      }

      static let all = Lane.engines.flatMap { lane in
        [false, true].flatMap { isSecure in
          [
            (200, .get, .stray), (200, .get, .joined), (200, .get, .timeout), (204, .get, .stray), (304, .get, .body),
            (200, .head, .body), (200, .get, .chunked),
          ].map {
            (status: Int, method: HTTPMethod, after: WireServer.After) in
            Case(lane: lane, isSecure: isSecure, status: status, method: method, after: after)
          }
        }
      }
    }

    private static func server(_ isSecure: Bool) async throws -> (WireServer, TLSSettings) {
      guard isSecure else { return (try await WireServer(), .system) }
      let authority = try await CertificateAuthority()
      return (try await WireServer(try await authority.identity()), .customRoots(pem: authority.root))
    }

    @Test(arguments: Case.all) func `the next request gets its own response`(_ what: Case) async throws {
      let (server, tls) = try await Self.server(what.isSecure)

      // Each worker has its own connections: 1,008 for each pause, over all cases.
      try await withThrowingTaskGroup(of: Void.self) { group in
        for worker in 0..<Stress.count(1, full: 42) {
          let client = what.lane.client { $0.tls = tls }
          group.addTask {
            for (place, (pause, count)) in [(0, 5), (5, 5), (100, 2), (1000, 1)].enumerated() {
              for turn in 0..<(Stress.isOn ? 1 : count) {
                try await Self.ask(what, 2 * (turn + 10 * place + 100 * worker), pause, server, client)
              }
            }
          }
        }
        try await group.waitForAll()
      }
    }

    /// One request may finish, and the next one may be sent on its connection, before the loop notices the end.
    @Test(arguments: Lane.engines, [false, true])
    func `each of many concurrent requests gets its own response`(_ lane: Lane, _ isSecure: Bool) async throws {
      let (server, tls) = try await Self.server(isSecure)
      let client = lane.client {
        $0.tls = tls
        $0.maximumConnectionsPerHost = 16
      }

      try await withThrowingTaskGroup(of: Void.self) { group in
        for worker in 0..<16 {
          group.addTask {
            for turn in 0..<Stress.count(10, full: 200) {
              let number = 1000 * worker + turn
              let after: WireServer.After? = turn % 3 == 0 ? .joined : nil
              let target = after.map { server.target(number, 200, $0, pause: 0) } ?? server.target(number)
              let response = try await client.get(target, options: .retry(.standard))
              #expect(response.headers["X-Number"] == "\(number)")
            }
          }
        }
        try await group.waitForAll()
      }
    }

    @Test(arguments: Case.all.filter { !$0.isSecure })
    func `the next request over a unix socket gets its own response`(_ what: Case) async throws {
      let folder = try TemporaryFolder()
      let path = folder.path("s")
      let server = try await WireServer(path: path)
      let client = what.lane.client { $0.unixSocket = path }

      // Each connection serves one request, so bytes that arrive later have no recipient.
      for turn in 0..<10 { try await Self.ask(what, 2 * turn, 0, server, client) }
    }

    @Test(arguments: Lane.engines, WireServer.Way.proxied)
    func `the next request through a proxy gets its own response`(_ lane: Lane, _ way: WireServer.Way) async throws {
      let authority = try await CertificateAuthority()
      let server = try await WireServer(try await authority.identity(), way)
      let paired = Case(lane: lane, isSecure: false, status: 200, method: .get, after: .paired)
      let cases = Case.all.filter { $0.lane == lane && !$0.isSecure } + [paired]

      try await withThrowingTaskGroup(of: Void.self) { group in
        for (worker, what) in cases.enumerated() {
          let client = lane.client { [root = authority.root] in
            $0.tls = .customRoots(pem: root)
            $0.proxy = server.proxy
          }
          group.addTask {
            for (place, pause) in [0, 5, 100].enumerated() {
              for turn in 0..<Stress.count(3, full: 50) {
                try await Self.ask(what, 2 * (turn + 1000 * place + 10_000 * worker), pause, server, client)
              }
            }
            let isReused = HostFact.visibleProxyTLS.holds || way != .secureProxy && way != .secureTunnel
            // A response that nothing follows leaves its connection to the next request.
            for number in 0..<3 {
              let response = try await client.get(server.target(number))
              #expect(response.text == "\(number)" && response.connection?.isReused == isReused)
            }
          }
        }
        try await group.waitForAll()
      }
    }

    /// In a tunnel, such bytes would belong to TLS.
    @Test(arguments: Lane.engines, WireServer.Way.proxied.filter(\.isTunnel))
    func `bytes after a CONNECT response are not used as a response`(_ lane: Lane, _ way: WireServer.Way) async throws {
      let authority = try await CertificateAuthority()
      let server = try await WireServer(try await authority.identity(), way)
      let client = lane.client { [root = authority.root] in
        $0.tls = .customRoots(pem: root)
        $0.proxy = server.proxy
      }

      for turn in 0..<Stress.count(6, full: 300) {
        let target = RequestTarget("\(raw: "https://localhost:\(1001 + turn % 3)/200/nothing/0/\(turn)")")
        let answer = await Result { try await client.post(target, body: .text("x")) }
        switch answer {
        case .success(let response): #expect(response.text == "\(turn)")
        case .failure(let error): #expect(error is HTTPError && (error as? HTTPError)?.kind != .timedOut, "\(error)")
        }
        let next = try await client.get(server.target(1000 + turn))
        #expect(next.text == "\(1000 + turn)")
      }
    }

    private static func ask(
      _ what: Case, _ number: Int, _ pause: Int, _ server: WireServer, _ client: HTTPClient
    ) async throws {
      let first = try await client.send(
        HTTPRequest(what.method, server.target(number, what.status, what.after, pause: pause)))
      #expect(first.headers["X-Number"] == "\(number)")
      // Until they are sent, the bytes could still become the response to the next request, without any visible
      // difference.
      #expect(await server.waitForSent(number))

      let isGet = (number / 2 + number / 200) % 2 == 0
      let second = try await client.send(
        isGet ? .get(server.target(number + 1)) : .post(server.target(number + 1), body: .text("x")))
      #expect(second.headers["X-Number"] == "\(number + 1)" && second.text == "\(number + 1)")
      #expect(second.connection?.isReused == false)
    }

    @Test(.needs(.curlWithOpenSSL), .needs(.reusesReadable), arguments: Lane.engines)
    func `a TLS KeyUpdate does not prevent connection reuse`(
      _ lane: Lane
    ) async throws {
      let authority = try await CertificateAuthority()
      let server = try await TypedServer(try await authority.identity())
      let client = lane.client { [root = authority.root] in $0.tls = .customRoots(pem: root) }
      for number in 0..<3 {
        let target = RequestTarget(server.url("/\(number)"))
        async let answer = client.get(target)
        #expect(await server.becomes("GET /\(number) "))
        try server.type("HTTP/1.1 200 OK\nContent-Length: 1\n\n\(number)")
        let response = try await answer
        #expect(response.text == "\(number)")
        #expect(response.connection?.isReused == (number > 0))
        // Updates the TLS keys.
        try server.type("k\n")
        #expect(await server.becomes("KeyUpdate", count: number + 1))
      }
    }
  }

  /// `openssl s_server`, which sends what a test types.
  private struct TypedServer {
    private let url: String
    private let process: ToolProcess
    private let input = Pipe()

    init(_ identity: CertificateAuthority.Identity) async throws {
      let process = try TestProgram.openssl.start(
        ["s_server", "-accept", "127.0.0.1:0", "-cert", identity.certificate.path, "-key", identity.key.path, "-crlf"]
          + ["-tls1_3", "-msg"], input: input.fileHandleForReading)
      var port: Int?
      _ = await TestSupport.becomes(every: .milliseconds(5)) {
        let line = process.outputSoFar.split(separator: "\n").first { $0.hasPrefix("ACCEPT 127.0.0.1:") }
        port = line.flatMap { Int($0.dropFirst("ACCEPT 127.0.0.1:".count)) }
        return port != nil || !process.isRunning
      }
      url = "https://127.0.0.1:\(try #require(port, "openssl s_server did not start"))"
      self.process = process
    }

    func url(_ path: String) -> String { url + path }

    func type(_ text: String) throws { try input.fileHandleForWriting.write(contentsOf: Data(text.utf8)) }

    func becomes(_ text: String, count: Int = 1) async -> Bool {
      await TestSupport.becomes {
        (process.outputSoFar + process.errorsSoFar).components(separatedBy: text).count > count
      }
    }
  }
#endif
