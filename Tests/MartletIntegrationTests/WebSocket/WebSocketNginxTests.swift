#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import MartletWebSocket
  import TestSupport
  import Testing

  /// WebSockets through nginx, which forwards `/socket` to another server.
  @Suite(.hangLimit, .needs(.nginx, .openssl)) struct WebSocketNginxTests {
    /// nginx in front of a server on a port.
    private static func nginx(
      _ port: Int, _ identity: CertificateAuthority.Identity? = nil, canReload: Bool = false, directives: String = ""
    ) async throws -> NginxServer {
      let location = """
        location /socket {
          proxy_pass http://127.0.0.1:\(port);
          proxy_http_version 1.1;
          proxy_set_header Upgrade $http_upgrade;
          proxy_set_header Connection "upgrade";
          \(directives)
        }
        """
      guard let identity else { return try await NginxServer(canReload: canReload, location) }
      return try await NginxServer(identity, canReload: canReload, location)
    }

    private static func request(_ server: NginxServer) -> HTTPRequest {
      .get(RequestTarget("\(raw: "ws" + server.url.dropFirst("http".count))/socket"))
    }

    /// Expects that a WebSocket has ended without a close frame, and that all uses report it.
    private static func expectLoss(_ socket: WebSocket, _ client: HTTPClient) async {
      for _ in 0..<2 {
        let error = await #expect(throws: HTTPError.self) { try await socket.receive() }
        #expect(error?.kind == .connectionLost && error?.message.contains("without a close frame") == true)
      }
      let error = await #expect(throws: HTTPError.self) { try await socket.send("late") }
      #expect(error?.kind == .connectionLost)
      #expect(socket.closeCode == .abnormalClosure)
      await client.waitUntilEmpty()
    }

    @Test(arguments: [false, true]) func `exchanges messages of every size`(isSecure: Bool) async throws {
      let authority = isSecure ? try await CertificateAuthority() : nil
      let root = try authority?.rootPEM
      let server = try MockServer(.webSocket([.echo], subprotocols: ["chat"], compression: .on))
      let nginx = try await Self.nginx(server.port, try await authority?.identity())
      let client = Lane.curl.client { if let root { $0.tls = .customRoots(pem: root) } }

      for (number, isCompressed) in [false, true].enumerated() {
        let options = WebSocketOptions {
          $0.compression = isCompressed ? .deflate : .off
          $0.subprotocols = ["chat"]
        }
        try await client.webSocket(Self.request(nginx), options: options) { socket in
          #expect(socket.isCompressed == isCompressed && socket.subprotocol == "chat")
          for size in [0, 1, 125, 126, 65_535, 65_536, 8 << 20] {
            let data = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 5) })
            async let sending: Void = socket.send(data)
            #expect(try await socket.receive() == .binary(data))
            try await sending
          }
          #expect(try await socket.ping() > .zero)
        }
        #expect(await server.waitForWebSocket(number) { $0.isEnded }?.closeCode == .normalClosure)
      }

      await client.waitUntilEmpty()
      #expect(client.activity.current.totals.succeeded == 2)
    }

    @Test func `delivers the close of the server behind nginx`() async throws {
      let server = try MockServer(.webSocket([.text("last"), .close(.init(rawValue: 4000), reason: "full")]))
      let nginx = try await Self.nginx(server.port)
      let socket = try await Lane.curl.client().webSocket(Self.request(nginx))

      #expect(try await socket.receive() == .text("last"))
      let error = await #expect(throws: HTTPError.self) { try await socket.receive() }

      #expect(error?.kind == .webSocketClosed && socket.closeCode?.rawValue == 4000 && socket.closeReason == "full")
    }

    // MARK: Silence

    @Test func `proxy_read_timeout ends a silent WebSocket with an error`() async throws {
      let server = try MockServer(.webSocket([.echo]))
      let nginx = try await Self.nginx(server.port, directives: "proxy_read_timeout 500ms;")
      let client = Lane.curl.client()
      let socket = try await client.webSocket(Self.request(nginx))

      await Self.expectLoss(socket, client)
    }

    @Test func `pings and pongs pass nginx`() async throws {
      let server = try MockServer(.webSocket([.echo]))
      let nginx = try await Self.nginx(server.port)
      let pongs = Shared(0)
      let options = WebSocketOptions {
        $0.keepAlive = .pings(every: .milliseconds(50))
        $0.pingTimeout = .seconds(50)
        $0.onControlFrame = { if case .pong = $0 { pongs.withLock { $0 += 1 } } }
      }
      let socket = try await Lane.curl.client().webSocket(Self.request(nginx), options: options)

      await pongs.wait { $0 >= 5 }

      #expect(server.webSockets.first?.messages.count ?? 0 >= 5)
      try await socket.send("still")
      #expect(try await socket.receive() == .text("still"))
      await socket.close()
    }

    // MARK: Restarts

    @Test func `a reload keeps a WebSocket open, and a stop ends it with an error`() async throws {
      let server = try MockServer(.webSocket([.echo]))
      let nginx = try await Self.nginx(server.port, canReload: true)
      let client = Lane.curl.client()
      let socket = try await client.webSocket(Self.request(nginx))

      let before = try await client.get(RequestTarget("\(raw: nginx.url)/none")).status
      nginx.reload()
      for number in 0..<20 {
        try await socket.send("\(number)")
        #expect(try await socket.receive() == .text("\(number)"))
      }
      let other = try await client.webSocket(Self.request(nginx)) { other in
        try await other.send("new")
        return try await other.receive()
      }
      await nginx.stop()

      #expect(before == .notFound && other == .text("new"))
      await Self.expectLoss(socket, client)
      let error = await #expect(throws: HTTPError.self) { try await client.webSocket(Self.request(nginx)) }
      #expect(error?.kind == .cannotConnect)
    }

    // MARK: Responses of nginx

    @Test func `502 fails the handshake, and a retry connects when the server is back`() async throws {
      let server = try MockServer(.webSocket([.text("back")]))
      let port = try MockServer.refusedPort()
      // Without the file, the server behind nginx counts as stopped.
      let nginx = try await NginxServer(
        """
        location /socket {
          set $server 127.0.0.1:\(port);
          if (-f $document_root/started) { set $server 127.0.0.1:\(server.port); }
          proxy_pass http://$server;
          proxy_http_version 1.1;
          proxy_set_header Upgrade $http_upgrade;
          proxy_set_header Connection "upgrade";
        }
        """)
      let attempts = Shared(0)
      let client = Lane.curl.client(.accepts(.success)) {
        $0.exchangeMiddleware = [
          .closure { request, _, next in
            let number = attempts.withLock {
              $0 += 1
              return $0
            }
            if number == 3 { try Data().write(to: URL(fileURLWithPath: nginx.path("started"))) }
            return try await next(request)
          }
        ]
      }

      let error = await #expect(throws: HTTPError.self) { try await client.webSocket(Self.request(nginx)) }
      let text = try await client.webSocket(Self.request(nginx), requestOptions: .retry(.backoff())) {
        try await $0.receive()
      }

      #expect(error?.kind == .status && error?.status == .badGateway)
      #expect(text == .text("back"))
      #expect(attempts.withLock { $0 } == 3 && server.requests.count == 1)
      await client.waitUntilEmpty()
    }

    @Test func `nginx without the fields for upgrades responds in HTTP`() async throws {
      let server = try MockServer(.webSocket([.echo]))
      let nginx = try await NginxServer(
        "location /socket { proxy_pass http://127.0.0.1:\(server.port); proxy_http_version 1.1; }")
      let client = Lane.curl.client(.accepts(.success))

      let error = await #expect(throws: HTTPError.self) { try await client.webSocket(Self.request(nginx)) }

      #expect(error?.kind == .status && error?.status == .upgradeRequired)
      #expect(error?.response?.text.contains("Upgrade") == true)
      await client.waitUntilEmpty()
    }

    // MARK: Redirects

    @Test func `follows a redirect to a wss URL, and keeps credentials at their origin`() async throws {
      let authority = try await CertificateAuthority()
      let root = try authority.rootPEM
      let server = try MockServer(.webSocket([.echo]))
      let nginx = try await Self.nginx(server.port, try await authority.identity())
      let location = "wss" + nginx.url.dropFirst("https".count) + "/socket?a=b"
      let first = try MockServer(.redirect(to: location))
      let client = Lane.curl.client(.redirects(.follow)) { $0.tls = .customRoots(pem: root) }

      let request = HTTPRequest.get(
        RequestTarget(first.webSocketURL("/old")), headers: ["Authorization": "secret", "X-Kept": "1"])
      let (url, message) = try await client.webSocket(request) { socket in
        try await socket.send("x")
        return (socket.response.request.url?.absoluteString, try await socket.receive())
      }

      #expect(url == "https" + location.dropFirst("wss".count) && message == .text("x"))
      #expect(first.requests.first?.header("Authorization") == "secret")
      let received = try #require(server.webSockets.first?.request)
      #expect(received.header("Authorization") == nil && received.header("X-Kept") == "1")
      #expect(received.header("Sec-WebSocket-Key") != first.requests.first?.header("Sec-WebSocket-Key"))
    }
  }
#endif
