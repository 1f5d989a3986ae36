#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// squid, over both transports.
  @Suite(.needsSquid, .needs(.nginx, .openssl), .squidProxy, .hangLimit)
  struct SquidTests {
    private static let got = "add_header X-Got \"[$http_proxy_authorization$http_authorization]\";"

    /// Whether a server has received any credentials.
    private static func knows(_ server: MockServer) -> Bool {
      server.requests.contains {
        $0.header("Proxy-Authorization") != nil || $0.header("Authorization") != nil
          || String(decoding: $0.rawHead, as: UTF8.self).contains("ada")
      }
    }

    @Test(.needs(.http2), arguments: Lane.engines)
    func `forwards http requests and opens tunnels for https`(lane: Lane) async throws {
      let squid = try #require(SquidProxy.current)
      let authority = try await CertificateAuthority()
      let root = authority.root
      let secure = try await NginxServer(try await authority.identity(), isHTTP2: true, Self.got)
      let plain = try MockServer { request in .ok("\(request.method) \(request.bodyLength)") }
      let client = lane.client {
        $0.tls = .customRoots(pem: root)
        $0.proxy = .proxy(Proxy(squid.url(.open)))
      }
      let pieces = AsyncStream<Data> {
        for _ in 0..<10 { $0.yield(Data(repeating: 1, count: 30_000)) }
        $0.finish()
      }

      let first = try await client.get(RequestTarget("\(raw: plain.url)/a?b=c%20d"))
      let second = try await client.post(RequestTarget(plain.url), body: .data(Data(repeating: 1, count: 300_000)))
      let third = try await client.put(RequestTarget(plain.url), body: .stream(pieces))
      let fourth = try await client.get(RequestTarget(secure.url))
      let fifth = try await client.get(RequestTarget(secure.url))

      #expect([first, second, third].map(\.text) == ["GET 0", "POST 300000", "PUT 300000"])
      #expect(plain.requests.map(\.target) == ["/a?b=c%20d", "/", "/"])
      #expect(plain.requests.allSatisfy { $0.header("Via")?.contains("squid") == true })
      #expect([fourth, fifth].map(\.text) == ["ok", "ok"] && fourth.httpVersion == .http2)
      #expect(fourth.headers["Via"] == nil && fourth.headers["X-Got"] == "[]")
      #expect(fifth.connection?.isReused == true)
      #expect(!Self.knows(plain))
      client.closeIdleConnections()
      let place = String(secure.url.dropFirst("https://".count))
      #expect(await becomes { (try? squid.entries(place).count) == 1 })
      #expect(
        try squid.entries(place) == [
          SquidProxy.Entry(status: "200", method: "CONNECT", target: place, user: "-", scheme: "-")
        ])
    }

    @Test(arguments: Lane.engines, [SquidProxy.Entrance.basic, .digest])
    func `sends credentials to squid after its challenge, and never to a server`(
      lane: Lane, entrance: SquidProxy.Entrance
    ) async throws {
      let squid = try #require(SquidProxy.current)
      let proxy = squid.url(entrance)
      let authority = try await CertificateAuthority()
      let root = authority.root
      let secure = try await NginxServer(try await authority.identity(), Self.got)
      let plain = try MockServer { request in .ok("\(request.method) \(request.bodyLength)") }
      let questions = Shared<[AuthenticationChallenge]>([])
      let client = lane.client {
        $0.tls = .customRoots(pem: root)
        $0.proxy = .proxy(Proxy(proxy))
        $0.authenticators[.everywhere] = .ask { challenge in
          questions.withLock { $0.append(challenge) }
          return .user("ada", password: SquidProxy.password)
        }
      }

      let first = try await client.get(RequestTarget("\(raw: plain.url)/first"))
      let second = try await client.post(
        RequestTarget("\(raw: plain.url)/second"), body: .data(Data(repeating: 1, count: 300_000)))
      let third = try await client.get(RequestTarget(secure.url))
      let fourth = try await client.get(RequestTarget(secure.url))

      #expect([first, second, third, fourth].map(\.text) == ["GET 0", "POST 300000", "ok", "ok"])
      let asked = questions.withLock { $0 }
      #expect(asked.map(\.isProxy) == [true] && asked.map(\.scheme) == [entrance == .basic ? .basic : .digest])
      #expect(asked.first?.realm == "a proxy")
      #expect(plain.requests.count == 2 && !Self.knows(plain))
      #expect(third.headers["X-Got"] == "[]" && fourth.headers["X-Got"] == "[]")
      #expect(fourth.connection?.isReused == true)
      client.closeIdleConnections()
      let place = String(secure.url.dropFirst("https://".count))
      #expect(await becomes { (try? squid.entries(place).count) == 1 })
      #expect(await becomes { (try? squid.entries("\(plain.url)/second").count) == 1 })
      let entries = try ["\(plain.url)/first", "\(plain.url)/second", place].flatMap(squid.entries)
      let scheme = entrance == .basic ? "Basic" : "Digest"
      #expect(entries.map(\.status) == ["407", "200", "200", "200"])
      #expect(entries.map(\.user) == ["-", "ada", "ada", "ada"])
      #expect(entries.map(\.scheme) == ["-", scheme, scheme, scheme])
    }

    @Test(arguments: Lane.engines, [SquidProxy.Entrance.basic, .digest])
    func `missing or rejected credentials fail with an error that names the proxy`(
      lane: Lane, entrance: SquidProxy.Entrance
    ) async throws {
      let squid = try #require(SquidProxy.current)
      let proxy = squid.url(entrance)
      let server = try MockServer(.ok())
      // squid keeps one state per user name, so a wrong password may pass while the right one is in use.
      let configurations: [@Sendable (inout HTTPClient.Configuration) -> Void] = [
        { $0.proxy = .proxy(Proxy(proxy, user: "bob", password: "wr0ng")) },
        { $0.proxy = .proxy(Proxy(proxy, user: "eve", password: "wr0ng")) },
        {
          $0.proxy = .proxy(Proxy(proxy))
          $0.authenticators[.proxy(proxy)] = .password(user: "bob", password: "wr0ng")
        },
        { $0.proxy = .proxy(Proxy(proxy)) },
      ]

      for configure in configurations {
        let client = lane.client(change: configure)
        for url in [server.url, "https://127.0.0.1:\(server.port)"] {
          let error = await #expect(throws: HTTPError.self) { try await client.get(RequestTarget(url)) }
          #expect(error?.kind == .authenticationFailed, "\(error?.description ?? "")")
          #expect(error?.message.contains(proxy) == true && error?.message.contains("407") == true)
          #expect(error?.description.contains("wr0ng") == false)
          #expect(error?.status?.rawValue == (url == server.url ? 407 : nil))
        }
      }

      #expect(server.connectionCount == 0)
    }

    @Test(arguments: Lane.engines)
    func `counts nonce uses and switches to squid's next nonce when one is used up`(lane: Lane) async throws {
      let squid = try #require(SquidProxy.current)
      let server = try MockServer(.ok("in"))
      let client = lane.client {
        $0.proxy = .proxy(Proxy(squid.url(.digest)))
        $0.authenticators[.proxy(squid.url(.digest))] = .digest(user: "ada", password: SquidProxy.password)
      }
      let one = RequestTarget("\(raw: server.url)/one")

      for _ in 0..<25 { #expect(try await client.get(one).text == "in") }

      #expect(server.requests.count == 25)
      // squid writes the log entries shortly after it responds.
      #expect(await becomes { (try? squid.entries("\(server.url)/one").count) == 26 })
      let entries = try squid.entries("\(server.url)/one")
      #expect(entries.count { $0.status == "200" && $0.user == "ada" } == 25)
      // On the last use of a nonce, squid sends the next one along.
      #expect(entries.count { $0.status == "407" } == 1)
      #expect(Set(entries.compactMap(\.nonce)).count == 3, "\(entries.map(\.nonce))")
      #expect(!Self.knows(server))
    }
  }
#endif
