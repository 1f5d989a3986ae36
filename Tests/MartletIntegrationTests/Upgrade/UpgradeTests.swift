#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  @Suite(.hangLimit) struct UpgradeTests {
    private func server(isSecure: Bool) async throws -> (UpgradeServer, ClientSetting) {
      guard isSecure else { return (try await UpgradeServer(), ClientSetting { _ in }) }
      let authority = try await CertificateAuthority()
      let root = try authority.rootPEM
      return (
        try await UpgradeServer(try await authority.identity()), ClientSetting { $0.tls = .customRoots(pem: root) }
      )
    }

    // MARK: The protocol changes

    @Test(.needs(.python, .openssl), arguments: Lane.engines, [false, true])
    func `transports bytes in both directions and ends the client's side`(_ lane: Lane, isSecure: Bool) async throws {
      let (server, trust) = try await server(isSecure: isSecure)
      let client = lane.client(trust)

      let connection = try await client.upgrade(.get(server.target("/early")), to: "echo").connection
      var bytes = connection.bytes.makeAsyncIterator()
      try await UpgradedConnection.read("first", &bytes)
      try await connection.write(Data("one".utf8))
      try await UpgradedConnection.read("one", &bytes)
      // Other requests neither use nor await the connection.
      let other = try await client.get(server.target("/status/200"), options: .httpVersion(.http1_1))
      #expect(other.text == "no")
      let block = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 >> 3) })
      async let writing: Void = connection.write(block)
      var echoed = Data()
      while echoed.count < block.count, let chunk = try await bytes.next() { echoed += chunk }
      try await writing
      #expect(echoed == block)
      connection.finish()

      if !isSecure || HostFact.curlWithOpenSSL.holds { #expect(await server.prints("end of client")) }
      #expect(connection.response.status == .switchingProtocols)
      #expect(connection.response.httpVersion == .http1_1)
      let head = try #require(server.log.split(separator: "\n").first { $0.contains("/early") })
      #expect(head.contains("|Connection: Upgrade") && head.contains("|Upgrade: echo"))
      #expect(!head.contains("Transfer-Encoding") && !head.contains("Expect"))
    }

    @Test(.needs(.python, .openssl), arguments: HostFact.curlWithOpenSSL.holds ? [false, true] : [false])
    func `delivers the server's bytes after the client's end`(isSecure: Bool) async throws {
      let (server, trust) = try await server(isSecure: isSecure)

      let text = try await Lane.curl.client(trust).upgrade(.get(server.target("/echo")), to: "echo") { connection in
        try await connection.write(Data("all".utf8))
        connection.finish()
        return String(decoding: try await connection.bytes.collect(upTo: 100), as: UTF8.self)
      }

      #expect(text == "allbye")
    }

    @Test(.needs(.python), arguments: ["/slow", "/early"])
    func `delivers bytes that arrive with the head`(path: String) async throws {
      let server = try await UpgradeServer()

      try await Lane.curl.client().upgrade(.post(server.target(path)), to: "Echo") { connection in
        var bytes = connection.bytes.makeAsyncIterator()
        try await UpgradedConnection.read("first", &bytes)
      }

      #expect(server.log.contains("POST \(path)") && server.log.contains("|Content-Length: 0"))
    }

    @Test(.needs(.python)) func `ends with the server's bytes`() async throws {
      let server = try await UpgradeServer()
      let client = Lane.curl.client()

      let connection = try await client.upgrade(.get(server.target("/end")), to: "echo").connection
      let bytes = try await connection.bytes.collect(upTo: 100)
      let error = await #expect(throws: HTTPError.self) { try await connection.write(Data("more".utf8)) }

      #expect(bytes == Data("last".utf8))
      #expect(error?.kind == .connectionLost)
      await client.waitUntilEmpty()
    }

    @Test(.needs(.python, .tinyproxy)) func `uses a tunnel through an HTTP proxy, even for an http URL`() async throws {
      let (server, proxy) = (try await UpgradeServer(), try await ProxyProgram.http(user: "u", password: "p"))
      let client = Lane.curl.client(.proxy(Proxy("http://u:p@127.0.0.1:\(proxy.port)")))

      let text = try await client.upgrade(.get(server.target("/echo?a=%c3")), to: "echo") { connection in
        try await connection.write(Data("in".utf8))
        return String(decoding: try await connection.bytes.first { _ in true } ?? Data(), as: UTF8.self)
      }

      #expect(text == "in")
      #expect(proxy.tunnelCount == 1)
      #expect(server.log.contains("GET /echo?a=%c3 HTTP/1.1") && !server.log.contains("Proxy-Authorization"))
    }

    @Test(.needs(.python, .microsocks)) func `uses a SOCKS proxy`() async throws {
      let (server, proxy) = (try await UpgradeServer(), try await ProxyProgram.socks())
      let client = Lane.curl.client(.proxy(Proxy("socks5://127.0.0.1:\(proxy.port)")))

      try await client.upgrade(.get(server.target("/early")), to: "echo") { connection in
        var bytes = connection.bytes.makeAsyncIterator()
        try await UpgradedConnection.read("first", &bytes)
      }
    }

    @Test(.needs(.python)) func `uses a Unix socket`() async throws {
      let folder = try TemporaryFolder()
      let path = folder.path("s")
      let server = try await UpgradeServer(path: path)

      let text = try await Lane.curl.client { $0.unixSocket = path }
        .upgrade(.post("http://docker/attach"), to: "echo") { connection in
          try await connection.write(Data("ls".utf8))
          connection.finish()
          return String(decoding: try await connection.bytes.collect(upTo: 100), as: UTF8.self)
        }

      #expect(text == "lsbye")
      #expect(server.log.contains("POST /attach"))
    }

    // MARK: Responses in HTTP

    @Test(.needs(.python), arguments: [200, 204, 302, 404, 426, 500])
    func `returns a response with another status`(status: Int) async throws {
      let server = try await UpgradeServer()

      let outcome = try await Lane.curl.client().upgrade(.get(server.target("/status/\(status)")), to: "echo")

      guard case .response(let response) = outcome else {
        Issue.record("the protocol has changed")
        return
      }
      #expect(response.status.rawValue == status)
      #expect(try await response.body.collect(upTo: 100) == Data((status == 204 ? "" : "no").utf8))
      let error = #expect(throws: HTTPError.self) { try outcome.connection }
      #expect(error?.kind == .unsupported && error?.message.contains("status \(status)") == true)
    }

    @Test(.needs(.python)) func `follows redirects, signs in and sends cookies before the change`() async throws {
      let server = try await UpgradeServer()
      let client = HTTPClient { $0.transport = .curl }
      let options = RequestOptions { $0.credential = .user("me", password: "secret") }

      for path in ["/redirect", "/credentials"] {
        let request = HTTPRequest.get(server.target(path), headers: ["Cookie": "a=b"])
        try await client.upgrade(request, to: "echo", options: options) { connection in
          try await connection.write(Data("x".utf8))
          var bytes = connection.bytes.makeAsyncIterator()
          try await UpgradedConnection.read("x", &bytes)
        }
      }

      let heads = server.log.split(separator: "\n").filter { $0.contains("HTTP/1.1|") }
      #expect(heads.count == 4 && heads.allSatisfy { $0.contains("|Upgrade: echo") && $0.contains("|Cookie: a=b") })
    }

    @Test(.needs(.python)) func `an unaccepted status throws with its response`() async throws {
      let server = try await UpgradeServer()
      let client = HTTPClient { $0.transport = .curl }

      let error = await #expect(throws: HTTPError.self) {
        try await client.upgrade(.get(server.target("/status/403")), to: "echo")
      }

      #expect(error?.kind == .status && error?.status == .forbidden && error?.response?.text == "no")
    }

    @Test(.needs(.python), arguments: ["/other", "/length", "/chunked", "/old"])
    func `rejects a change that was not requested or has framing`(path: String) async throws {
      let server = try await UpgradeServer()
      let client = Lane.curl.client()

      let error = await #expect(throws: HTTPError.self) {
        try await client.upgrade(.get(server.target(path)), to: "echo")
      }

      #expect(error?.kind == .protocolViolation)
      await client.waitUntilEmpty()
    }

    @Test(.needs(.python)) func `a request for no other protocol rejects a 101`() async throws {
      let server = try await UpgradeServer()

      let error = await #expect(throws: HTTPError.self) { try await Lane.curl.client().get(server.target("/early")) }

      #expect(error?.kind == .protocolViolation)
    }

    @Test(.needs(.python), arguments: [1, 100, 300_000])
    func `a body precedes the other protocol, and is repeated with credentials`(count: Int) async throws {
      let server = try await UpgradeServer()
      let client = HTTPClient { $0.transport = .curl }
      let options = RequestOptions { $0.credential = .user("me", password: "secret") }
      let request = HTTPRequest.post(server.target("/credentials"), body: .text(String(repeating: "x", count: count)))

      try await client.upgrade(request, to: "echo", options: options) { connection in
        try await connection.write(Data("ping".utf8))
        var bytes = connection.bytes.makeAsyncIterator()
        try await UpgradedConnection.read("ping", &bytes)
      }

      let bodies = server.log.split(separator: "\n").filter { $0.hasPrefix("body") }
      #expect(bodies == Array(repeating: "body of \(count) bytes, 1 different", count: 2), "\(server.log)")
    }

    @Test(.needs(.python)) func `a refusal before the end of the body ends the connection`() async throws {
      let server = try await UpgradeServer()
      let client = HTTPClient { $0.transport = .curl }

      let request = HTTPRequest.post(server.target("/refused"), body: .data(Data(count: 64 << 20)))
      guard case .response(let response) = try await client.upgrade(request, to: "echo") else {
        Issue.record("the protocol has changed")
        return
      }
      #expect(try await response.body.collect(upTo: 100) == Data("no".utf8))
      // Otherwise, the server would take this request for a part of the body.
      try await client.upgrade(.get(server.target("/echo")), to: "echo") { $0.close() }

      #expect(await server.prints("end of refused connection"))
    }

    @Test(.needs(.python)) func `a value is encoded before an upgrade`() async throws {
      let server = try await UpgradeServer()
      let client = HTTPClient { $0.transport = .curl }

      try await client.upgrade(.post(server.target("/exec"), body: .json(["Tty": true])), to: "echo") { $0.close() }

      #expect(server.log.contains("body of 12 bytes"), "\(server.log)")
      #expect(server.log.contains("|Content-Length: 12"))
    }

    // MARK: Bad input

    @Test func `invalid requests fail before anything is sent`() async throws {
      let server = try MockServer(.ok("x"))
      let client = Lane.curl.client()
      let url = RequestTarget(server.url)
      let cases: [(HTTPRequest, String, RequestOptions, Duration?, String)] = [
        (.get(url), "two words", .init(), nil, "the protocol 'two words' is not a token"),
        (.get(url), "", .init(), nil, "the protocol '' is not a token"),
        (.get(url), "a/b/c", .init(), nil, "the protocol 'a/b/c' is not a token"),
        (.get(url), "a\r\nb", .init(), nil, "is not a token"),
        (.get(url), "echo", .init(), .zero, "idleLimit is"),
        (
          .post(url, body: .stream(AsyncStream<Data> { $0.finish() })), "echo", .init(), nil,
          "the body of an upgrade request must be in memory"
        ),
        (.head(url), "echo", .init(), nil, "a HEAD request cannot change the protocol"),
        (.get(url, headers: ["Connection": "close"]), "echo", .init(), nil, "the header 'Connection'"),
        (
          .get(url), "echo", RequestOptions { $0.httpVersion = .http2PriorKnowledge }, nil,
          "an upgrade requires HTTP/1.1"
        ),
      ]

      for (request, name, options, limit, message) in cases {
        let error = await #expect(throws: HTTPError.self) {
          try await client.upgrade(request, to: name, idleLimit: limit, options: options)
        }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
        #expect(error?.kind == .invalidRequest || error?.kind == .unsupported)
      }

      #expect(server.requests.isEmpty)
    }
  }
#endif
