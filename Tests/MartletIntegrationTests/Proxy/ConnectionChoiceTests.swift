#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// The addresses that a client connects to and from, and its HTTP version.
  @Suite(.hangLimit) struct ConnectionChoiceTests {
    @Test func `connects to a configured address and keeps the name in the Host field`() async throws {
      let server = try MockServer(.ok("here"))
      let client = Lane.curl.client {
        $0.resolve = ["nowhere.example": ["127.0.0.1"], "elsewhere.example:1": ["127.0.0.1"]]
      }

      let response = try await client.get("http://nowhere.example:\(server.port)/x")

      #expect(response.text == "here")
      #expect(server.requests.map { $0.header("Host") } == ["nowhere.example:\(server.port)"])
      #expect(response.connection?.remoteAddress == "127.0.0.1")
    }

    @Test(.needs(.openssl, .nginx)) func `verifies the certificate against the host name instead of the address`()
      async throws
    {
      let authority = try await CertificateAuthority()
      let root = authority.root
      let server = try await NginxServer(
        try await authority.identity(for: "DNS:nowhere.example"), "add_header X-Name $ssl_server_name;")
      let port = try #require(URL(string: server.url)?.port)
      let client = Lane.curl.client {
        $0.tls = .customRoots(pem: root)
        $0.resolve = ["nowhere.example:\(port)": ["127.0.0.1"], "other.example": ["127.0.0.1"]]
      }

      let response = try await client.get("https://nowhere.example:\(port)/")
      let error = await #expect(throws: HTTPError.self) { try await client.get("https://other.example:\(port)/") }

      #expect(response.headers["X-Name"] == "nowhere.example")
      #expect(error?.kind == .tls)
    }

    @Test(.needs(.openssl, .nginx)) func `connects to a Unix domain socket`() async throws {
      let folder = try TemporaryFolder()
      let path = folder.path("s")
      let authority = try await CertificateAuthority()
      let server = try await NginxServer(
        try await authority.identity(), "listen unix:\(path);", "add_header X-Host $host;")
      let client = Lane.curl.client { $0.unixSocket = path }

      let response = try await client.get("http://nowhere.example/a")
      let again = try await client.get("http://nowhere.example/a")

      #expect(response.text == "ok" && response.headers["X-Host"] == "nowhere.example")
      #expect(response.connection?.remoteAddress == nil && response.connection?.isReused == false)
      #expect(again.connection?.isReused == false)
      let none = folder.path("none")
      let missing = Lane.curl.client { $0.unixSocket = none }
      let error = await #expect(throws: HTTPError.self) { try await missing.get("http://nowhere.example/") }
      #expect(error?.kind == .cannotConnect)
      #expect(error?.message == "the Unix socket '\(none)' does not exist")
      let file = try folder.write("", to: "file").path
      let wrong = Lane.curl.client { $0.unixSocket = file }
      let other = await #expect(throws: HTTPError.self) { try await wrong.get("http://nowhere.example/") }
      #expect(other?.message == "the Unix socket '\(file)' is not a socket")
      withExtendedLifetime(server) {}
    }

    @Test(.needs(.loopbackAliases)) func `binds to a local address or an interface`() async throws {
      let server = try MockServer(.ok())
      let address = Lane.curl.client { $0.localInterface = "127.0.0.2" }
      let interface = Lane.curl.client { $0.localInterface = "lo" }
      let unknown = Lane.curl.client { $0.localInterface = "none0" }

      #expect(try await address.get(RequestTarget(server.url)).connection?.localAddress == "127.0.0.2")
      #expect(try await interface.get(RequestTarget(server.url)).connection?.localAddress == "127.0.0.1")
      let error = await #expect(throws: HTTPError.self) { try await unknown.get(RequestTarget(server.url)) }
      #expect(error?.kind == .cannotConnect)
      #expect(server.requests.count == 2)
    }

    @Test(.needs(.reportedRequests)) func `reports the connection of each response`() async throws {
      let server = try MockServer(.ok("x"))
      let client = Lane.curl.client()

      let first = try #require(try await client.get(RequestTarget(server.url)).connection)
      let second = try #require(try await client.get(RequestTarget(server.url)).connection)
      let streamed = try await client.stream(.get(RequestTarget(server.url))) { $0.connection }

      #expect(first.remoteAddress == "127.0.0.1" && first.remotePort == server.port && !first.isReused)
      #expect(first.localAddress == "127.0.0.1" && first.localPort != nil)
      #expect(second.isReused && second.localPort == first.localPort && second.remoteAddress == "127.0.0.1")
      #expect(streamed?.isReused == true)
    }

    // MARK: Versions

    @Test func `sends the chosen HTTP version`() async throws {
      let server = try MockServer(.ok("x"))
      let client = Lane.curl.client { $0.options.httpVersion = .http1_0 }

      _ = try await client.post(RequestTarget(server.url), body: .text("a"))
      // The server closes the connection after an HTTP/1.0 request, even without `Connection: close`.
      #expect(await server.waitForOpenConnections(atMost: 0))
      _ = try await client.get(RequestTarget(server.url), options: .httpVersion(.http1_1))
      _ = try await client.get(RequestTarget(server.url), options: .httpVersion(.automatic))
      let error = await #expect(throws: HTTPError.self) {
        try await client.get(RequestTarget(server.url), options: .httpVersion(.http2))
      }

      #expect(server.requests.map(\.httpVersion) == ["HTTP/1.0", "HTTP/1.1", "HTTP/1.1"])
      #expect(server.requests.first?.header("Content-Length") == "1")
      #expect(error?.kind == .unsupported)
      let endless = await #expect(throws: HTTPError.self) {
        try await client.post(
          RequestTarget(server.url), body: .stream(UploadPieces(Data(count: 10), count: 2)))
      }
      #expect(endless?.kind == .unsupported)
      #expect(server.requests.count == 3)
    }

    @Test(.needs(.http2), .needs(.openssl, .nginx)) func `negotiates the HTTP version over TLS`() async throws {
      let authority = try await CertificateAuthority()
      let root = authority.root
      let server = try await NginxServer(
        try await authority.identity(), isHTTP2: true, "add_header X-Version $server_protocol;")
      let client = Lane.curl.client { $0.tls = .customRoots(pem: root) }

      // An HTTP/2 connection already exists when the later requests are sent.
      for (version, expected) in [
        (.automatic, "HTTP/2.0"), (.http1_1, "HTTP/1.1"), (.http2, "HTTP/2.0"), (.http1_0, "HTTP/1.0"),
        (.automatic, "HTTP/2.0"),
      ] as [(RequestOptions.HTTPVersionPolicy, String)] {
        let response = try await client.get(RequestTarget(server.url), options: .httpVersion(version))
        #expect(response.headers["X-Version"] == expected, "\(version)")
      }
      let plain = try await NginxServer(try await authority.identity())
      #expect(try await client.get(RequestTarget(plain.url), options: .httpVersion(.http2)).httpVersion == .http1_1)
    }

    // MARK: The system's loader

    struct Choice: Sendable, CustomStringConvertible {
      let description: String
      let make: @Sendable (inout HTTPClient.Configuration) -> Void

      init(_ description: String, _ make: @escaping @Sendable (inout HTTPClient.Configuration) -> Void) {
        self.description = description
        self.make = make
      }
    }

    static let choices = [
      Choice("proxy") { $0.proxy = .environment }, Choice("resolve") { $0.resolve = ["a.example": ["127.0.0.1"]] },
      Choice("unixSocket") { $0.unixSocket = "/tmp/x" }, Choice("localInterface") { $0.localInterface = "lo" },
      Choice("httpVersion") { $0.options.httpVersion = .http1_1 },
    ]

    #if canImport(Darwin) || URLSession
      @Test(arguments: choices)
      func `the system's loader refuses the option before anything is sent`(_ choice: Choice) async throws {
        let server = try MockServer(.ok())
        let client = Lane.curl.client {
          $0.transport = .systemLoader
          choice.make(&$0)
        }

        let error = await #expect(throws: HTTPError.self) { try await client.get(RequestTarget(server.url)) }

        #expect(error?.kind == .unsupported)
        #expect(error?.message.contains(choice.description) == true && error?.message.contains(".curl") == true)
        #expect(server.connectionCount == 0)
      }
    #endif
  }
#endif
