#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  /// The tool's connection options.
  @Suite(.hangLimit) struct ToolConnectingTests {
    #if URLSession
      static let transports = ["urlsession", "curl", "system"]
    #else
      static let transports = ["curl"]
    #endif

    @Test(arguments: transports) func `prints the body with every transport`(name: String) async throws {
      let server = try MockServer(.ok("hello"))

      let result = try await ToolProcess.martlet(server.url("/"), "--transport", name, "--timing")

      #expect(result.status == 0 && result.text == "hello")
      let rows = result.errors.split(separator: "\n").map { $0.split(separator: " ") }
      // The system's loader reports nothing about its connections.
      #expect(rows.suffix(2).map(\.last) == (name == "system" ? ["-", "-"] : ["127.0.0.1:\(server.port)", "new"]))
    }

    @Test func `--http selects the HTTP version`() async throws {
      let server = try MockServer(.ok())

      let old = try await ToolProcess.martlet(server.url("/"), "--http", "1.0")
      let usual = try await ToolProcess.martlet(server.url("/"), "--http", "1.1")
      let new = try await ToolProcess.martlet(server.url("/"), "--http", "2")

      #expect(old.status == 0 && usual.status == 0)
      #expect(server.requests.map(\.httpVersion) == ["HTTP/1.0", "HTTP/1.1"])
      #expect(new.status == 3 && new.errors.hasPrefix("martlet: unsupported"), "\(new.errors)")
      #expect(new.errors.contains("--http2-prior-knowledge"), "\(new.errors)")
    }

    @Test(.needsHTTP2Server) func `--http2-prior-knowledge uses HTTP/2 without TLS`() async throws {
      let server = try await HTTP2Server()

      let result = try await ToolProcess.martlet("\(server.url)/1/head/last:two", "--http2-prior-knowledge")

      #expect(result.status == 0 && result.text == "two", "\(result.errors)")
    }

    @Test func `--resolve connects to an address instead of looking up the name`() async throws {
      let server = try MockServer(.ok())

      let all = try await ToolProcess.martlet(
        "http://nowhere.invalid:\(server.port)/", "--resolve", "nowhere.invalid:127.0.0.1")
      let one = try await ToolProcess.martlet(
        "http://nowhere.invalid:\(server.port)/", "--resolve", "other.invalid:[::1]",
        "--resolve", "nowhere.invalid:\(server.port):127.0.0.1")

      #expect(all.status == 0 && one.status == 0, "\(all.errors)\(one.errors)")
      #expect(
        server.requests.map { $0.header("Host") } == [
          "nowhere.invalid:\(server.port)", "nowhere.invalid:\(server.port)",
        ])
    }

    @Test func `uses the proxy of --proxy or the environment, and none with --no-proxy`() async throws {
      let proxy = try MockServer(.ok("proxy"))
      let server = try MockServer(.ok("server"))
      let url = server.url("/a")
      let named = ["http_proxy": "http://user:secret@127.0.0.1:\(proxy.port)"]

      let asked = try await ToolProcess.martlet(url, "--proxy", "127.0.0.1:\(proxy.port)")
      let found = try await ToolProcess.martlet(url, environment: named)
      let direct = try await ToolProcess.martlet(url, "--no-proxy", environment: named)
      let broken = try await ToolProcess.martlet(url, "--proxy", "http://user:secret@127.0.0.1:\(proxy.port)/path")

      #expect([asked, found, direct].map(\.text) == ["proxy", "proxy", "server"])
      #expect(proxy.requests.map(\.target) == [url, url])
      let credentials = Data("user:secret".utf8).base64EncodedString()
      #expect(proxy.requests.map { $0.header("Proxy-Authorization") } == [nil, "Basic \(credentials)"])
      #expect(broken.status == 2 && broken.errors.contains("the proxy") && !broken.errors.contains("secret"))
      #expect(server.requests.count == 1)
    }

    @Test(.needs(.openssl, .nginx)) func `--unix-socket overrides the environment's proxy`() async throws {
      let folder = try TemporaryFolder()
      let authority = try await CertificateAuthority()
      let server = try await NginxServer(
        try await authority.identity(), "listen unix:\(folder.path("s"));", "add_header X-Host $host;")

      let result = try await ToolProcess.martlet(
        "-i", "http://nowhere.invalid/", "--unix-socket", folder.path("s"), "--timing",
        environment: ["http_proxy": "http://127.0.0.1:1"])
      let missing = try await ToolProcess.martlet("http://nowhere.invalid/", "--unix-socket", folder.path("none"))

      #expect(result.status == 0 && result.text.contains("\nX-Host: nowhere.invalid\n"), "\(result.errors)")
      #expect(result.errors.hasSuffix("\nremote       unix socket\nconnection   new\n"))
      #expect(missing.status == 3 && missing.errors.hasPrefix("martlet: cannotConnect"), "\(missing.errors)")
      withExtendedLifetime(server) {}
    }

    // MARK: TLS

    @Test(.needs(.openssl)) func `--cacert trusts the given root, and --insecure any certificate`() async throws {
      let authority = try await CertificateAuthority()
      let server = try await OpenSSLServer(try await authority.identity())

      let unknown = try await ToolProcess.martlet(server.url)
      let known = try await ToolProcess.martlet(server.url, "--cacert", authority.root.path, "--timing")
      let insecure = try await ToolProcess.martlet(server.url, "--insecure")

      #expect(unknown.status == 3 && unknown.output.isEmpty && unknown.errors.hasPrefix("martlet: tls"))
      #expect(known.status == 0 && insecure.status == 0, "\(known.errors)\(insecure.errors)")
      let handshake = known.errors.split(separator: "\n").first { $0.hasPrefix("TLS") }
      #expect(handshake?.hasSuffix(" ms") == true, "\(known.errors)")
    }

    @Test(.needs(.http2), .needs(.openssl, .nginx))
    func `--cert presents a client certificate from every format over HTTP/2`() async throws {
      let authority = try await CertificateAuthority()
      let server = try await NginxServer(
        try await authority.identity(), isHTTP2: true, "ssl_client_certificate \(authority.root.path);",
        "ssl_verify_client on;")
      let identity = try await authority.identity("alice")
      let locked = try await authority.encrypted(identity, password: "open: sesame")
      let archive = try await authority.pkcs12(identity, password: "open: sesame")
      let folder = try TemporaryFolder()
      let both =
        try String(contentsOf: identity.certificate, encoding: .utf8)
        + String(contentsOf: identity.key, encoding: .utf8)
      try folder.write(both, to: "a:b.pem")

      let forms = [
        ["--cert", identity.certificate.path, "--key", identity.key.path], ["--cert", folder.path("a\\:b.pem")],
        ["--cert", "\(locked.certificate.path):open: sesame", "--key", locked.key.path],
        ["--cert", "\(archive.path):open: sesame"],
      ]
      for form in forms {
        let result = try await ToolProcess(
          try ToolProcess.martlet(), ["-i", server.url, "--cacert", authority.root.path, "--http", "2"] + form
        ).end()
        #expect(result.status == 0 && result.text.hasPrefix("HTTP/2 200"), "\(form) \(result.errors)")
        #expect(result.text.lowercased().contains("\nx-client: cn=alice\n"))
      }
      let wrong = try await ToolProcess.martlet(
        server.url, "--cacert", authority.root.path, "--cert", "\(archive.path):wrong")
      #expect(wrong.status == 3 && wrong.errors.hasPrefix("martlet: tls") && !wrong.errors.contains("wrong"))
    }

    // MARK: Invalid options

    @Test(arguments: [
      ["--transport", "ftp"], ["--http", "3"], ["--proxy", "ftp://127.0.0.1"], ["--proxy", "http://"],
      ["--cacert", "/does/not/exist"], ["--cert", "/does/not/exist"], ["--cert", "/dev/null:secret"],
      ["--resolve", "a.test"], ["--resolve", "a.test:b.test"], ["--resolve", "127.0.0.1:127.0.0.1"],
      ["--unix-socket", String(repeating: "s", count: 108)], ["--key", "k"], ["--insecure", "--transport", "system"],
    ])
    func `exits with 2 for invalid connection options, before connecting`(arguments: [String]) async throws {
      let server = try MockServer(.ok())

      let result = try await ToolProcess(try ToolProcess.martlet(), [server.url("/")] + arguments).end()

      #expect(result.status == 2 && result.output.isEmpty)
      #expect(result.errors.hasPrefix("martlet: ") && result.errors.split(separator: "\n").count == 1)
      #expect(!result.errors.contains("secret"), "\(result.errors)")
      #expect(server.connectionCount == 0)
    }

    // MARK: --timing

    @Test func `--timing prints to standard error even after a redirect and an error status`() async throws {
      let server = try MockServer { $0.path == "/old" ? .redirect(to: "/new") : .status(404, body: "none") }

      let result = try await ToolProcess.martlet(server.url("/old"), "--timing", environment: ["TERM": "xterm"])

      #expect(result.status == 4 && result.text == "none")
      let names = result.errors.split(separator: "\n").map { $0.prefix(13).trimmingCharacters(in: .whitespaces) }
      #expect(
        names == ["queued", "name lookup", "connect", "TLS", "first byte", "total", "remote", "connection"],
        "\(result.errors)")
      #expect(!result.errors.contains("\u{1B}"))
      // The second exchange reused the connection of the first.
      #expect(result.errors.hasSuffix("\nconnection   reused\n") && server.connectionCount == 1)
    }
  }
#endif
