#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// The state that clients with different settings share over real connections, and the state they must not (decision
  /// 0035).
  @Suite(.hangLimit) struct SharedStateTests {
    private static func server(_ authority: CertificateAuthority, _ directives: String...) async throws -> NginxServer {
      try await NginxServer(
        try await authority.identity(), "add_header Cache-Control max-age=600;",
        "add_header X-Cookie \"[$http_cookie]\";", directives.joined(separator: "\n"))
    }

    // MARK: TLS

    @Test(.needs(.openssl, .nginx), arguments: Lane.engines)
    func `responses and cookies from unverified TLS are not shared with verifying clients`(_ lane: Lane) async throws {
      let authority = try await CertificateAuthority()
      let server = try await Self.server(authority, "add_header Set-Cookie \"sid=1; Secure\";")
      let target = RequestTarget(server.url)
      let parent = lane.client(.cache(.memory()), .cookies(.memory))
      let trusting = parent.derived { $0.tls = .insecureTrustAnything }
      let root = authority.root
      let checking = parent.derived { $0.tls = .customRoots(pem: root) }

      #expect(try await trusting.get(target).source == .network)
      let error = await #expect(throws: HTTPError.self) { try await parent.get(target) }
      let checked = try await checking.get(target)
      let again = try await trusting.send(.get(target), options: .cache(.neverRead))

      #expect(error?.kind == .tls)
      await #expect(throws: HTTPError.self) { try await parent.get(target, options: .cache(.onlyCached)) }
      #expect(checked.source == .network && checked.headers["X-Cookie"] == "[]")
      #expect(again.headers["X-Cookie"] == "[sid=1]")
      // Clients with the same trust share the cache, even if they are derived independently.
      #expect(try await checking.get(target).source == .cache)
      #expect(try await parent.derived { $0.tls = .customRoots(pem: root) }.get(target).source == .cache)
    }

    @Test(.needs(.openssl, .nginx), arguments: Lane.engines)
    func `a disk cache separates clients by their TLS trust`(_ lane: Lane) async throws {
      let authority = try await CertificateAuthority()
      let server = try await Self.server(authority)
      let target = RequestTarget(server.url)
      let folder = try TemporaryFolder()
      let (directory, root) = (folder.url.appending(path: "cache"), authority.root)
      func client(_ tls: TLSSettings) -> HTTPClient {
        lane.client(.cache(.disk(directory)), .cookies(.memory)).derived { $0.tls = tls }
      }

      _ = try await client(.insecureTrustAnything).get(target)
      let error = await #expect(throws: HTTPError.self) { try await client(.system).get(target) }
      let checked = try await client(.customRoots(pem: root)).get(target)

      #expect(error?.kind == .tls && checked.source == .network)
      #expect(try await client(.insecureTrustAnything).get(target).source == .cache)
      #expect(try await client(.customRoots(pem: root)).get(target).source == .cache)
    }

    @Test(.needs(.openssl, .nginx), arguments: Lane.engines)
    func `pins and client certificates partition the cache`(_ lane: Lane) async throws {
      let authority = try await CertificateAuthority()
      let server = try await Self.server(authority, "ssl_verify_client optional_no_ca;")
      let target = RequestTarget(server.url)
      let root = authority.root
      let parent = lane.client(.cache(.memory()), .cookies(.memory)).derived { $0.tls = .customRoots(pem: root) }
      let pinned = parent.derived { $0.tls.pins = ["sha256//YhKJKSzoTt2b5FP18fvpHo7fJYqQCjAa3HWY3tvRMwE="] }
      var named: [HTTPClient] = []
      for name in ["ada", "bob"] {
        let identity = try await authority.identity(name)
        named.append(
          parent.derived { $0.tls.clientCertificate = .pem(certificate: identity.certificate, key: identity.key) })
      }

      _ = try await parent.get(target)
      let error = await #expect(throws: HTTPError.self) { try await pinned.get(target) }
      var clients: [String?] = []
      for client in named + named { clients.append(try await client.get(target).headers["X-Client"]) }

      #expect(error?.kind == .tls)
      #expect(clients == ["CN=ada", "CN=bob", "CN=ada", "CN=bob"])
      #expect(try await named[0].get(target).source == .cache)
      #expect(try await parent.get(target).source == .cache)
    }

    // MARK: Addresses and routes

    @Test(arguments: Lane.engines)
    func `publicAddressesOnly does not serve a cached response from a loopback address`(_ lane: Lane) async throws {
      let server = try MockServer(.ok("secret", headers: ["Cache-Control": "max-age=600"]))
      let parent = lane.client(.cache(.memory()), .cookies(.memory))
      let guarded = parent.derived { $0.guards = [.publicAddressesOnly] }

      _ = try await parent.get(RequestTarget(server.url))
      let error = await #expect(throws: HTTPError.self) { try await guarded.get(RequestTarget(server.url)) }

      #expect(error?.kind == .refusedByGuard)
      #expect(try await parent.get(RequestTarget(server.url)).source == .cache)
    }

    @Test(arguments: Lane.engines) func `a response fetched through one proxy is not served through another`(
      _ lane: Lane
    ) async throws {
      let parent = lane.client(.cache(.memory()), .cookies(.memory))
      var clients: [(HTTPClient, MockServer)] = []
      for name in ["a", "b"] {
        let proxy = try MockServer(.ok(name, headers: ["Cache-Control": "max-age=600"]))
        let url = proxy.url
        clients.append((parent.derived { $0.proxy = .proxy(Proxy(url)) }, proxy))
      }

      var texts: [String] = []
      for (client, _) in clients + clients { texts.append(try await client.get("http://x.test/").text) }

      #expect(texts == ["a", "b", "a", "b"])
      #expect(clients.map { $0.1.requests.count } == [1, 1])
    }

    @Test(arguments: Lane.engines) func `a response for one Host is not served for another under concurrent requests`(
      _ lane: Lane
    ) async throws {
      let server = try MockServer { .ok($0.header("Host") ?? "", headers: ["Cache-Control": "max-age=600"]) }
      let client = lane.client(.cache(.memory()), .cookies(.memory))

      for isStored in [false, true] {
        try await withThrowingTaskGroup(of: (String, HTTPResponse).self) { group in
          for number in 0..<200 {
            let host = "h\(number % 8).test"
            group.addTask { (host, try await client.get(RequestTarget(server.url), headers: ["Host": host])) }
          }
          for try await (host, response) in group {
            #expect(response.text == host)
            #expect(!isStored || response.source == .cache)
          }
        }
      }
    }

    @Test(arguments: Lane.engines) func `clients with different network settings share no connections`(_ lane: Lane)
      async throws
    {
      let server = try MockServer { .ok("\($0.connection)") }
      let parent = lane.client()
      let pem = Data("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n".utf8)
      let key = Data("-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n".utf8)
      let changes: [@Sendable (inout HTTPClient.Configuration) -> Void] = [
        { $0.tls = .insecureTrustAnything }, { $0.tls = .customRoots(pem: pem) }, { $0.tls = .system(adding: pem) },
        { $0.tls.pins = ["sha256//YhKJKSzoTt2b5FP18fvpHo7fJYqQCjAa3HWY3tvRMwE="] }, { $0.tls.minimumVersion = .v1_3 },
        { $0.guards = [.publicAddressesOnly(except: ["127.0.0.1"])] }, { $0.resolve = ["x.test": ["127.0.0.1"]] },
        { $0.proxy = .proxy("http://127.0.0.1:1", except: ["*"]) }, { $0.proxy = .resolver { _ in nil } },
        { $0.localInterface = "127.0.0.1" }, { $0.tls.clientCertificate = .pem(certificate: pem, key: key) },
      ]
      let unix = parent.derived { $0.unixSocket = "/nowhere" }
      let clients = [parent] + changes.map { parent.derived($0) }

      var connections: [String] = []
      for client in clients + clients { connections.append(try await client.get(RequestTarget(server.url)).text) }
      let error = await #expect(throws: HTTPError.self) { try await unix.get(RequestTarget(server.url)) }
      let same = try await parent.derived { $0.headers["X"] = "1" }.get(RequestTarget(server.url)).text

      #expect(Set(connections).count == clients.count)
      #expect(Array(connections.prefix(clients.count)) == Array(connections.suffix(clients.count)))
      #expect(same == connections[0])
      #expect(error?.kind == .cannotConnect)
    }

    // MARK: Codings

    @Test(arguments: Lane.engines, [true, false])
    func `a body cached encoded is not served decoded, and vice versa`(
      _ lane: Lane, isCodedFirst: Bool
    ) async throws {
      let server = try MockServer { request in
        let fields: KeyValuePairs = ["Cache-Control": "max-age=600", "ETag": "\"1\"", "Content-Encoding": "gzip"]
        if request.header("If-None-Match") != nil { return .status(304, headers: fields) }
        return .data(CodedBodies.gzip, headers: fields)
      }
      let target = RequestTarget(server.url)
      let client = lane.client(.cache(.memory()), .cookies(.memory))
      let (coded, plain) = (RequestOptions.decompression(.off), RequestOptions.decompression(.automatic))
      let range: HTTPHeaders = ["Range": "bytes=2-5"]
      let modes = isCodedFirst ? [coded, plain] : [plain, coded]

      for (index, mode) in modes.enumerated() {
        let first = try await client.get(target, options: mode)
        let part = try await client.get(target, headers: range, options: mode)
        let head = try await client.send(.head(target), options: mode.cache(.alwaysRevalidate))
        let confirmed = try await client.get(target, options: mode.cache(.alwaysRevalidate))
        let stored = try await client.get(target, options: mode)
        let text = Data(CodedBodies.text.utf8)
        let body = mode.decompression == .off ? CodedBodies.gzip : text

        #expect(first.source == .network && first.body == body, "\(index)")
        #expect(part.source == .cache && part.body == Data(body[2...5]), "\(index)")
        #expect(head.body.isEmpty && confirmed.source == .revalidated && stored.source == .cache, "\(index)")
        for response in [confirmed, stored] {
          #expect(response.body == body, "\(index)")
          #expect(response.headers["Content-Encoding"] == (mode.decompression == .off ? "gzip" : nil), "\(index)")
        }
      }
    }
  }
#endif
