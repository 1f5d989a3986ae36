#if os(Linux)
  import Foundation
  @testable import MartletBase
  @testable import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  @Suite(.hangLimit) struct HTTPProxyTests {
    static func proxy(_ server: MockServer, user: String? = nil, password: String? = nil) -> Proxy {
      Proxy(server.url, user: user, password: password)
    }

    // MARK: A real proxy

    @Test(.needs(.tinyproxy)) func `sends http requests through a proxy, except to excluded hosts`() async throws {
      let proxy = try await ProxyProgram.http()
      let server = try MockServer(answering: MockResponse.echo)
      let url = "http://127.0.0.1:\(proxy.port)"

      let through = try await Lane.curl.client(.proxy(Proxy(url))).post(
        RequestTarget(server.url("/a?b=c")), body: .text("body"))
      let direct = try await Lane.curl.client(.proxy(Proxy(url), except: ["127.0.0.0/8"])).get(
        RequestTarget(server.url))

      #expect(through.text == "body")
      #expect(through.connection?.remotePort == proxy.port)
      #expect(direct.connection?.remotePort == server.port)
      let requests = server.requests
      #expect(requests.map(\.target) == ["/a?b=c", "/"])
      #expect(requests.map { $0.header("Via") != nil } == [true, false])
    }

    @Test(.needs(.http2), .needs(.tinyproxy, .openssl, .nginx))
    func `reaches https URLs through a tunnel and sends proxy credentials only to the proxy`() async throws {
      let proxy = try await ProxyProgram.http(user: "user", password: "secret")
      let authority = try await CertificateAuthority()
      let root = authority.root
      let server = try await NginxServer(
        try await authority.identity(), isHTTP2: true, "add_header X-Got \"[$http_proxy_authorization]\";")
      let client = Lane.curl.client(.proxy(Proxy("http://user:secret@127.0.0.1:\(proxy.port)"))) {
        $0.tls = .customRoots(pem: root)
      }

      let first = try await client.get(RequestTarget(server.url))
      let second = try await client.get(RequestTarget(server.url))

      #expect(first.text == "ok" && first.httpVersion == .http2)
      #expect(first.headers["X-Got"] == "[]")
      #expect(second.connection?.isReused == true)
      #expect(proxy.tunnelCount == 1)
    }

    @Test(.needs(.tinyproxy, .openssl))
    func `rejected proxy credentials fail with an error that names the proxy and its status`() async throws {
      let proxy = try await ProxyProgram.http(user: "user", password: "secret")
      let origin = try MockServer(.ok("origin"))
      // This proxy responds to wrong credentials with a 401.
      for (credentials, status) in [("", 407), ("user:wrong@", 401), ("other:secret@", 401)] {
        let client = Lane.curl.client(.proxy(Proxy("http://\(credentials)127.0.0.1:\(proxy.port)")))

        let error = await #expect(throws: HTTPError.self) { try await client.get("https://127.0.0.1:\(origin.port)/") }
        let plain: HTTPStatus?
        do {
          plain = try await client.get(RequestTarget(origin.url)).status
        } catch let error as HTTPError {
          plain = error.status
          #expect(error.kind == .authenticationFailed && status == 407)
        }

        #expect(error?.kind == .authenticationFailed && error?.phase == .connecting)
        #expect(
          error?.message.contains("http://127.0.0.1:\(proxy.port) responded to CONNECT with \(status)") == true,
          "\(error?.message ?? "")")
        #expect(error?.description.contains("wrong") == false)
        #expect(plain?.rawValue == status)
      }
      #expect(origin.requests.isEmpty)
    }

    @Test(.needs(.tinyproxy, .openssl, .nginx))
    func `never reuses a tunnel that was opened with other credentials`() async throws {
      let proxy = try await ProxyProgram.http()
      let authority = try await CertificateAuthority()
      let root = authority.root
      let server = try await NginxServer(try await authority.identity())
      let number = Turns()
      let address = "http://127.0.0.1:\(proxy.port)"
      let client = Lane.curl.client(
        .proxy(.resolver { _ in Proxy(address, user: "user\(number.next() % 2)", password: "p") })
      ) {
        $0.tls = .customRoots(pem: root)
      }
      var connections: [Set<String>] = [[], []]

      for index in 0..<10 {
        let response = try await client.get(RequestTarget(server.url))
        connections[index % 2].insert(response.headers["X-Connection"] ?? "")
      }

      #expect(connections[0].isDisjoint(with: connections[1]))
      #expect(connections[0].count == 1)
      #expect(proxy.tunnelCount == 6)
    }

    @TaskLocal private static var user = "first"

    @Test(.needs(.http2), .needs(.tinyproxy, .openssl, .nginx))
    func `never shares an HTTP/2 connection between concurrent requests with different credentials`() async throws {
      let proxy = try await ProxyProgram.http()
      let authority = try await CertificateAuthority()
      let root = authority.root
      let server = try await NginxServer(
        try await authority.identity(), isHTTP2: true, "location /slow { limit_rate 1000; }")
      #expect(FileManager.default.createFile(atPath: server.path("slow"), contents: Data(count: 1200)))
      let address = "http://127.0.0.1:\(proxy.port)"
      let client = Lane.curl.client(.proxy(.resolver { _ in Proxy(address, user: Self.user, password: "p") })) {
        $0.tls = .customRoots(pem: root)
        $0.maximumConnectionsPerHost = 20
      }
      // The first connection belongs to the first user.
      _ = try await client.get(RequestTarget(server.url))

      let names = try await withThrowingTaskGroup(of: (String, String).self) { group in
        for number in 0..<12 {
          let user = number % 2 == 0 ? "first" : "second"
          group.addTask {
            try await Self.$user.withValue(user) {
              let response = try await client.get("\(raw: server.url)/slow")
              #expect(response.httpVersion == .http2)
              return (user, response.headers["X-Connection"] ?? "")
            }
          }
          try await Task.sleep(for: .milliseconds(20))
        }
        return try await group.reduce(into: [String: Set<String>]()) { $0[$1.0, default: []].insert($1.1) }
      }

      #expect(names.count == 2 && names["first"]?.isDisjoint(with: names["second"] ?? []) == true, "\(names)")
      #expect(names["second"]?.count == 6)
    }

    @Test(.needs(.openssl, .nginx)) func `connects to a proxy over TLS and verifies its certificate`() async throws {
      let authority = try await CertificateAuthority()
      let root = authority.root
      let proxy = try await NginxServer(try await authority.identity())
      let settings = ProxySettings.proxy(Proxy(proxy.url))

      let response = try await Lane.curl.client(.proxy(settings)) { $0.tls = .customRoots(pem: root) }
        .get("http://nowhere.example/")
      #expect(response.text == "ok")

      for tls in [TLSSettings.system, .insecureTrustAnything] {
        let error = await #expect(throws: HTTPError.self) {
          try await Lane.curl.client(.proxy(settings)) { $0.tls = tls }.get("http://nowhere.example/")
        }
        #expect(error?.kind == .tls && error?.phase == .connecting, "\(tls)")
      }
    }

    // MARK: Requests to a proxy

    @Test func `sends a target in absolute form with proxy credentials`() async throws {
      let server = try MockServer(.ok("from the proxy"))
      let client = Lane.curl.client(.proxy(Self.proxy(server, user: "user", password: "pä:ss")))

      let response = try await client.send(.get("http://u:p@nowhere.example:81/a?b#c", headers: ["X-A": "1"]))

      let request = try #require(server.requests.first)
      #expect(response.text == "from the proxy")
      #expect(request.target == "http://nowhere.example:81/a?b")
      #expect(request.headers(named: "Host") == ["nowhere.example:81"])
      #expect(request.header("Proxy-Authorization") == "Basic " + Data("user:pä:ss".utf8).base64EncodedString())
      #expect(request.header("Authorization") == "Basic " + Data("u:p".utf8).base64EncodedString())
      #expect(request.header("X-A") == "1")
    }

    #if canImport(Darwin) || URLSession
      @Test func `the URLSession transport uses the proxy and closes idle connections to it`() async throws {
        let server = try MockServer(.ok("from the proxy"))
        let client = Lane.curl.client(.proxy(Self.proxy(server))) { $0.transport = .urlSession }

        let response = try await client.get("http://nowhere.example/a")
        client.closeIdleConnections()

        #expect(response.text == "from the proxy" && response.connection?.remotePort == server.port)
        #expect(server.requests.map(\.target) == ["http://nowhere.example/a"])
        #expect(await server.waitForOpenConnections(atMost: 0))
      }
    #endif

    @Test func `CONNECT contains no field, path or query of the request`() async throws {
      let server = try MockServer(.status(403, headers: ["X-A": "b"]))
      let client = Lane.curl.client(.proxy(Self.proxy(server, user: "user", password: "p")))
      let headers: HTTPHeaders = [
        "Authorization": "secret", "Cookie": "secret", "X-A": "secret", "User-Agent": "secret",
      ]

      let error = await #expect(throws: HTTPError.self) {
        try await client.send(.get("https://nowhere.example/secret?secret", headers: headers))
      }

      let request = try #require(server.requests.first)
      #expect(request.method == "CONNECT" && request.target == "nowhere.example:443")
      #expect(request.header("Proxy-Authorization") == "Basic dXNlcjpw")
      #expect(!String(decoding: request.rawHead, as: UTF8.self).contains("secret"))
      #expect(error?.kind == .cannotConnect && error?.phase == .connecting)
      #expect(error?.message == "the proxy \(server.url) responded to CONNECT with 403")
      #expect(server.requests.count == 1)
    }

    @Test func `does not retry after a 407 from a proxy`() async throws {
      let server = try MockServer(.status(407, headers: ["Proxy-Authenticate": "Basic realm=\"a\""]))
      let client = Lane.curl.client(.proxy(Self.proxy(server, user: "user", password: "p")))

      let plain = await #expect(throws: HTTPError.self) { try await client.get("http://nowhere.example/") }
      let error = await #expect(throws: HTTPError.self) { try await client.get("https://nowhere.example/") }

      #expect(plain?.kind == .authenticationFailed && plain?.status == 407)
      #expect(plain?.message == "the proxy \(server.url) did not accept the credentials (407)")
      #expect(error?.kind == .authenticationFailed && error?.phase == .connecting)
      #expect(server.requests.map(\.method) == ["GET", "CONNECT"])
    }

    @Test func `never sends a caller's Proxy-Authorization field to an origin server`() async throws {
      let proxy = try MockServer(.ok())
      let origin = try MockServer(.ok())
      let except = Lane.curl.client(.proxy(Self.proxy(proxy), except: ["127.0.0.1"]))
      let always = Lane.curl.client(.proxy(Self.proxy(proxy)))
      let headers: HTTPHeaders = ["proxy-authorization": "Basic secret"]

      for (client, url) in [(except, origin.url), (always, "https://nowhere.example/")] {
        let error = await #expect(throws: HTTPError.self) {
          try await client.send(.get(RequestTarget(url), headers: headers))
        }
        #expect(error?.kind == .invalidRequest && error?.description.contains("secret") == false)
      }
      #expect(origin.requests.isEmpty && proxy.requests.isEmpty)

      _ = try await always.send(.get("http://nowhere.example/", headers: headers))
      #expect(proxy.requests.first?.headers(named: "Proxy-Authorization") == ["Basic secret"])
    }

    @Test func `the proxy of one request does not affect the next request`() async throws {
      let proxy = try MockServer(.ok("proxy"))
      let origin = try MockServer(.ok("origin"))
      let number = Turns()
      let settings = Self.proxy(proxy, user: "user", password: "p")
      let client = Lane.curl.client(.proxy(.resolver { _ in number.next() % 2 == 0 ? settings : nil }))

      for expected in ["proxy", "origin", "proxy", "origin", "proxy"] {
        #expect(try await client.get(RequestTarget(origin.url)).text == expected)
      }

      #expect(origin.requests.allSatisfy { $0.header("Proxy-Authorization") == nil && $0.target == "/" })
      #expect(proxy.requests.allSatisfy { $0.header("Proxy-Authorization") != nil })
    }

    @Test func `passes only the origin to the resolver, and sends nothing if the resolver fails`() async throws {
      struct Broken: Error {}
      let origin = try MockServer(.ok())
      let client = Lane.curl.client(
        .proxy(
          .resolver { url in
            #expect(url.absoluteString == origin.url + "/")
            throw Broken()
          }))

      let error = await #expect(throws: HTTPError.self) { try await client.get(RequestTarget(origin.url("/secret?s"))) }

      #expect(error?.kind == .cannotConnect && error?.underlying is Broken)
      #expect(origin.requests.isEmpty)
      let malformed = Lane.curl.client(.proxy(.resolver { _ in Proxy("ftp://x:secret@y") }))
      let other = await #expect(throws: HTTPError.self) { try await malformed.get(RequestTarget(origin.url)) }
      #expect(other?.kind == .invalidRequest && other?.description.contains("secret") == false)
      #expect(origin.requests.isEmpty)
    }

    @Test func `applies the connection limit per host separately to hosts behind one proxy`() async throws {
      let gate = Gate()
      let proxy = try MockServer { _ in
        await gate.pass()
        return .ok()
      }
      let client = Lane.curl.client(.proxy(Self.proxy(proxy))) { $0.maximumConnectionsPerHost = 1 }

      try await withThrowingTaskGroup { group in
        for host in ["a", "b", "c", "d"] {
          group.addTask { _ = try await client.get(RequestTarget("http://\(host).example/")) }
        }
        await gate.waitForArrivals(4)
        gate.open()
        try await group.waitForAll()
      }

      #expect(proxy.maximumConcurrentRequests == 4)
    }

    @Test func `starts concurrent requests to a new plain HTTP host at the same time`() async throws {
      let gate = Gate()
      let server = try MockServer { _ in
        await gate.pass()
        return .ok()
      }
      let client = Lane.curl.client(.proxy(.direct))

      try await withThrowingTaskGroup { group in
        for _ in 0..<4 {
          group.addTask { _ = try await client.get(RequestTarget(server.url), options: .coalesces(false)) }
        }
        await gate.waitForArrivals(4)
        gate.open()
        try await group.waitForAll()
      }

      #expect(server.maximumConcurrentRequests == 4)
    }

    @Test func `an unreachable proxy fails with cannotConnect`() async throws {
      let port = try MockServer.refusedPort()
      for url in ["http://a.example/", "https://a.example/"] {
        let error = await #expect(throws: HTTPError.self) {
          try await Lane.curl.client(.proxy(Proxy("http://127.0.0.1:\(port)"))).get(RequestTarget(url))
        }
        #expect(error?.kind == .cannotConnect && error?.phase == .connecting)
      }
    }
  }

  /// Returns consecutive numbers, starting with 0.
  final class Turns: Sendable {
    private let count = Locked(-1)

    func next() -> Int {
      count.withLock {
        $0 += 1
        return $0
      }
    }
  }
#endif
