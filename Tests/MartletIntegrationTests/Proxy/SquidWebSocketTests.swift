#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import MartletWebSocket
  import TestSupport
  import Testing

  /// WebSockets through tunnels of squid.
  @Suite(.needsSquid, .needs(.nginx, .openssl), .squidProxy, .hangLimit) struct SquidWebSocketTests {
    /// A server for messages, as a `ws` and as a `wss` URL; nginx adds TLS.
    private struct Server {
      let plain: MockServer
      let secure: NginxServer
      let root: Data

      init() async throws {
        let authority = try await CertificateAuthority()
        plain = try MockServer(.webSocket([.echo]))
        secure = try await NginxServer(
          try await authority.identity(),
          """
          location /socket {
            proxy_pass \(plain.url);
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection upgrade;
          }
          """)
        root = try authority.rootPEM
      }

      func client(_ proxy: Proxy) -> HTTPClient {
        Lane.curl.client(.proxy(proxy)) { [root] in $0.tls = .customRoots(pem: root) }
      }

      /// The host and port of squid's tunnel.
      func place(isSecure: Bool) -> String { String((isSecure ? secure.url : plain.url).drop { $0 != "1" }) }

      func request(isSecure: Bool) -> HTTPRequest {
        .get(RequestTarget("\(raw: isSecure ? "wss" : "ws")://\(raw: place(isSecure: isSecure))/socket"))
      }
    }

    private static func echo(_ client: HTTPClient, _ request: HTTPRequest) async throws {
      try await client.webSocket(request) { socket in
        for size in [1, 200, 70_000, 4 << 20] {
          let data = Data(repeating: UInt8(truncatingIfNeeded: size), count: size)
          async let sending: Void = socket.send(data)
          #expect(try await socket.receive() == .binary(data))
          try await sending
        }
        #expect(try await socket.ping() > .zero)
      }
      await client.waitUntilEmpty()
    }

    @Test(arguments: SquidProxy.Entrance.allCases, [false, true])
    func `messages pass through a tunnel with the proxy's credentials`(
      entrance: SquidProxy.Entrance, isSecure: Bool
    ) async throws {
      let squid = try #require(SquidProxy.current)
      let server = try await Server()
      let client = server.client(Proxy(squid.url(entrance))).derived {
        $0.authenticators[.everywhere] = .ask { challenge in
          challenge.isProxy ? .user("ada", password: SquidProxy.password) : nil
        }
      }

      try await Self.echo(client, server.request(isSecure: isSecure))

      let received = try #require(await server.plain.waitForWebSocket { $0.isEnded })
      #expect(received.closeCode == .normalClosure)
      #expect(received.request.header("Proxy-Authorization") == nil && received.request.header("Authorization") == nil)
      let place = server.place(isSecure: isSecure)
      // squid logs a tunnel when it closes.
      #expect(await becomes { (try? squid.entries(place).contains { $0.status == "200" }) == true })
      let entries = try squid.entries(place)
      #expect(entries.allSatisfy { $0.method == "CONNECT" })
      #expect(entries.last?.user == (entrance == .open ? "-" : "ada"))
    }

    @Test(arguments: [SquidProxy.Entrance.basic, .digest], [false, true])
    func `rejected credentials fail with an error that names the proxy`(
      entrance: SquidProxy.Entrance, isSecure: Bool
    ) async throws {
      let squid = try #require(SquidProxy.current)
      let server = try await Server()
      let proxy = Proxy(squid.url(entrance), user: "eve", password: "wr0ng")
      let client = server.client(proxy)

      let error = await #expect(throws: HTTPError.self) {
        try await client.webSocket(server.request(isSecure: isSecure))
      }

      #expect(error?.kind == .authenticationFailed && error?.description.contains("wr0ng") == false)
      #expect(error?.message.contains(squid.url(entrance)) == true, "\(error?.description ?? "")")
      #expect(server.plain.requests.isEmpty)
      await client.waitUntilEmpty()
    }

    @Test func `the end of the server behind squid is an error`() async throws {
      let squid = try #require(SquidProxy.current)
      let server = try MockServer(.webSocket([.text("last"), .receive, .cut]))
      let client = Lane.curl.client(.proxy(Proxy(squid.url(.open))))
      let socket = try await client.webSocket(.get(RequestTarget(server.webSocketURL())))

      #expect(try await socket.receive() == .text("last"))
      try await socket.send("go")
      let error = await #expect(throws: HTTPError.self) { try await socket.receive() }

      #expect(error?.kind == .connectionLost && socket.closeCode == .abnormalClosure)
      await client.waitUntilEmpty()
    }
  }
#endif
