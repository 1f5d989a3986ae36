#if os(Linux)
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  @Suite(.needs(.microsocks), .hangLimit) struct SOCKSProxyTests {
    @Test func `connects through a SOCKS proxy, with and without credentials`() async throws {
      let server = try MockServer(.ok("hello"))
      for (user, password) in [(nil, nil), ("user", "p:ss")] as [(String?, String?)] {
        let socks = try await ProxyProgram.socks(user: user, password: password ?? "")
        let client = Lane.curl.client(.proxy(Proxy("socks5://127.0.0.1:\(socks.port)", user: user, password: password)))

        // The proxy resolves the name.
        let response = try await client.get("http://localhost:\(server.port)/a")

        #expect(response.text == "hello")
        #expect(response.connection?.remotePort == socks.port)
      }
      #expect(server.requests.map(\.target) == ["/a", "/a"])
      #expect(server.requests.allSatisfy { $0.header("Proxy-Authorization") == nil })
    }

    @Test func `missing or wrong SOCKS credentials fail with authenticationFailed`() async throws {
      let server = try MockServer(.ok())
      let socks = try await ProxyProgram.socks(user: "user", password: "secret")
      for (user, password) in [(nil, nil), ("user", "wrong")] as [(String?, String?)] {
        let client = Lane.curl.client(.proxy(Proxy("socks5://127.0.0.1:\(socks.port)", user: user, password: password)))

        let error = await #expect(throws: HTTPError.self) { try await client.get(RequestTarget(server.url)) }

        #expect(error?.kind == .authenticationFailed && error?.phase == .connecting, "\(error.map { "\($0)" } ?? "")")
        let reason =
          user == nil ? "requires credentials; set the proxy's user and password" : "did not accept the credentials"
        #expect(error?.message.hasSuffix(reason) == true, "\(error.map { "\($0)" } ?? "")")
      }
      #expect(server.requests.isEmpty)
    }

    @Test func `leaves name resolution to the proxy`() async throws {
      let server = try MockServer(.ok())
      let socks = try await ProxyProgram.socks()
      let client = Lane.curl.client(.proxy(Proxy("socks5://127.0.0.1:\(socks.port)"))) {
        $0.resolve = ["nowhere.invalid": ["127.0.0.1"]]
      }

      let error = await #expect(throws: HTTPError.self) {
        try await client.get("http://nowhere.invalid:\(server.port)/")
      }

      #expect(error?.kind == .cannotConnect)
      #expect(server.requests.isEmpty)
    }

    @Test func `fails if the proxy cannot connect, and rejects a Proxy-Authorization field`() async throws {
      let socks = try await ProxyProgram.socks()
      let client = Lane.curl.client(.proxy(Proxy("socks5://127.0.0.1:\(socks.port)")))
      let server = try MockServer(.ok())
      let port = try MockServer.refusedPort()

      let refused = await #expect(throws: HTTPError.self) { try await client.get("http://127.0.0.1:\(port)/") }
      let header = await #expect(throws: HTTPError.self) {
        try await client.send(.get(RequestTarget(server.url), headers: ["Proxy-Authorization": "secret"]))
      }

      #expect(refused?.kind == .cannotConnect && refused?.phase == .connecting)
      #expect(refused?.message.hasSuffix("): the host refused the connection") == true)
      #expect(header?.kind == .invalidRequest)
      #expect(server.requests.isEmpty)
    }
  }
#endif
