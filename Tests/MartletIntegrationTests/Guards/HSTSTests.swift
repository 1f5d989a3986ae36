#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  @Suite(.hangLimit) struct HSTSTests {
    private static let settings: ClientSetting = [
      .redirects(.follow),
      .resolve([
        "strict.example": ["127.0.0.1"], "a.strict.example": ["127.0.0.1"], "plain.example": ["127.0.0.1"],
      ]),
    ]

    private static func server(_ authority: CertificateAuthority, _ wish: String) async throws -> NginxServer {
      try await NginxServer(
        try await authority.identity(for: "DNS:strict.example,DNS:a.strict.example,IP:127.0.0.1"),
        "add_header Strict-Transport-Security \"\(wish)\" always;", "add_header X-Cookie \"[$http_cookie]\" always;")
    }

    private static func port(_ server: NginxServer) throws -> Int { try #require(URL(string: server.url)?.port) }

    @Test(.needs(.openssl, .nginx), arguments: Lane.engines)
    func `learns hosts only over TLS and upgrades later requests to https`(_ lane: Lane) async throws {
      let authority = try await CertificateAuthority()
      let server = try await Self.server(authority, "max-age=100; includeSubDomains")
      let port = try Self.port(server)
      let client = lane.client(.guards([.hsts]), .trusting(authority.root), Self.settings)
      await client.cookies.set(Cookie("safe", "1", domain: "strict.example", isSecure: true))

      // The TLS port responds to plain HTTP with a 400, whose HSTS field must be ignored.
      _ = try await client.get("http://strict.example:\(port)/")
      let before = try await client.get("http://strict.example:\(port)/")
      _ = try await client.get("https://strict.example:\(port)/")
      let after = try await client.get("http://strict.example:\(port)/")
      let below = try await client.get("http://a.strict.example:\(port)/")
      let plain = try await client.get("http://plain.example:\(port)/")

      #expect(before.status == 400 && before.headers.contains("Strict-Transport-Security"))
      #expect(after.status == 200 && after.url.scheme == "https" && after.headers["X-Cookie"] == "[safe=1]")
      #expect(below.status == 200 && below.url.scheme == "https")
      #expect(plain.status == 400 && plain.url.scheme == "http")
    }

    @Test(.needs(.openssl, .nginx), arguments: Lane.engines)
    func `learns nothing without certificate verification, and nothing for an IP address`(_ lane: Lane) async throws {
      let authority = try await CertificateAuthority()
      let server = try await Self.server(authority, "max-age=100")
      let port = try Self.port(server)
      let trusting = lane.client(.guards([.hsts]), .trusting(authority.root), Self.settings) {
        $0.tls = .insecureTrustAnything
      }
      let client = lane.client(.guards([.hsts]), .trusting(authority.root), Self.settings)

      _ = try await trusting.get("https://strict.example:\(port)/")
      _ = try await client.get("https://127.0.0.1:\(port)/")

      #expect(try await trusting.get("http://strict.example:\(port)/").status == 400)
      #expect(try await client.get("http://127.0.0.1:\(port)/").status == 400)
    }

    @Test(.needs(.openssl, .nginx), arguments: Lane.engines)
    func `upgrades the http target of a redirect to https`(_ lane: Lane) async throws {
      let authority = try await CertificateAuthority()
      let server = try await Self.server(authority, "max-age=100")
      let port = try Self.port(server)
      let outer = try MockServer { _ in .redirect(to: "http://strict.example:\(port)/") }
      let client = lane.client(.guards([.hsts]), .trusting(authority.root), Self.settings)
      _ = try await client.get("https://strict.example:\(port)/")

      let response = try await client.get(RequestTarget(outer.url))

      #expect(response.status == 200)
      #expect(response.redirects.map { $0.to.scheme } == ["https"])
    }

    @Test(.needs(.openssl, .nginx)) func `stores hosts in a private file, and removes a host after max-age 0`()
      async throws
    {
      let authority = try await CertificateAuthority()
      let strict = try await Self.server(authority, "max-age=100; includeSubDomains")
      let lax = try await Self.server(authority, "max-age=0")
      let (strictPort, laxPort) = (try Self.port(strict), try Self.port(lax))
      let folder = try TemporaryFolder()
      let file = folder.url.appendingPathComponent("hosts")
      let root = authority.root

      _ = try await Lane.curl.client(.guards([.hsts(.file(file))]), .trusting(root), Self.settings).get(
        "https://strict.example:\(strictPort)/")
      let facts = try FileManager.default.attributesOfItem(atPath: file.path)
      let text = String(decoding: try folder.contents("hosts"), as: UTF8.self)
      // Simulates the client of the next run.
      let next = Lane.curl.client(.guards([.hsts(.file(file))]), .trusting(root), Self.settings)
      let upgraded = try await next.get("http://a.strict.example:\(strictPort)/")
      _ = try await next.get("https://strict.example:\(laxPort)/")

      #expect(facts[.posixPermissions] as? Int == 0o600)
      #expect(text.hasPrefix("# martlet hsts 1\n") && text.hasSuffix(" + strict.example\n"), "\(text)")
      #expect(upgraded.status == 200)
      // The subdomain has sent its own field, so it stays.
      let left = String(decoding: try folder.contents("hosts"), as: UTF8.self)
      #expect(left.hasSuffix(" + a.strict.example\n") && !left.contains(" + strict.example"), "\(left)")
      #expect(try await next.get("http://strict.example:\(strictPort)/").status == 400)
      #expect(folder.names == ["hosts", "hosts.lock"])
    }

    // MARK: The file

    private static let now = Date(timeIntervalSince1970: 1_000_000)

    private static func receive(_ name: String, _ value: String = "max-age=100", in hosts: HSTSHosts) async throws {
      let url = try AbsoluteURL.parse("https://\(name)/")
      if hosts.receive(value, from: url, now: now) { await hosts.save(now: now) }
    }

    @Test func `shares a file with other instances without undoing their changes`() async throws {
      let folder = try TemporaryFolder()
      let store = RequestGuard.HSTSStore.file(folder.url.appendingPathComponent("hosts"))
      let first = HSTSHosts(store, now: Self.now)
      let second = HSTSHosts(store, now: Self.now)

      try await Self.receive("a.example", in: first)
      try await Self.receive("b.example", in: second)
      #expect(second.covers("a.example", now: Self.now))
      try await Self.receive("a.example", "max-age=0", in: second)
      try await Self.receive("c.example", in: first)

      let third = HSTSHosts(store, now: Self.now)
      for hosts in [first, third] {
        #expect(
          ["a.example", "b.example", "c.example"].map { hosts.covers($0, now: Self.now) } == [false, true, true])
      }
    }

    @Test func `saves all hosts that are learned concurrently`() async throws {
      let folder = try TemporaryFolder()
      let store = RequestGuard.HSTSStore.file(folder.url.appendingPathComponent("hosts"))
      let both = [HSTSHosts(store, now: Self.now), HSTSHosts(store, now: Self.now)]

      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<40 {
          group.addTask { try await Self.receive("host\(number).example", in: both[number % 2]) }
        }
        try await group.waitForAll()
      }

      let read = HSTSHosts(store, now: Self.now)
      #expect((0..<40).filter { !read.covers("host\($0).example", now: Self.now) } == [])
    }

    @Test func `keeps hosts that it cannot save, and saves them later`() async throws {
      let folder = try TemporaryFolder()
      let inner = folder.url.appendingPathComponent("later")
      let store = RequestGuard.HSTSStore.file(inner.appendingPathComponent("hosts"))
      let hosts = HSTSHosts(store, now: Self.now)

      try await Self.receive("a.example", in: hosts)
      #expect(hosts.covers("a.example", now: Self.now))
      try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: false)
      try await Self.receive("b.example", in: hosts)

      let read = HSTSHosts(store, now: Self.now)
      #expect(read.covers("a.example", now: Self.now) && read.covers("b.example", now: Self.now))
    }

    @Test func `does not overwrite a file in another format, even through a symbolic link`() async throws {
      let folder = try TemporaryFolder()
      try folder.write("precious\n", to: "hosts")
      let hosts = HSTSHosts(.file(folder.url.appendingPathComponent("hosts")), now: Self.now)

      try await Self.receive("a.example", in: hosts)

      #expect(hosts.problem?.kind == .fileFailed)
      #expect(try folder.contents("hosts") == Data("precious\n".utf8))
      let link = HSTSHosts(.file(folder.url.appendingPathComponent("link")), now: Self.now)
      try FileManager.default.createSymbolicLink(
        atPath: folder.path("link"), withDestinationPath: folder.path("hosts"))
      try await Self.receive("a.example", in: link)
      #expect(try folder.contents("hosts") == Data("precious\n".utf8))
    }
  }
#endif
