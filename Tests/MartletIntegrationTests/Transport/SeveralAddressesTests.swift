#if os(Linux)
  import Foundation
  import Martlet
  @testable import MartletTesting
  import MartletBase
  import TestSupport
  import Testing

  /// Hosts with several addresses, of which some refuse or do not reply (RFC 8305 §5, RFC 1123 §2.3).
  @Suite(.hangLimit, .ownThreads, .needs(.loopbackAliases)) struct SeveralAddressesTests {
    private static let refused = (4...11).map { "127.0.0.\($0)" }

    // If a silent address could take half of this limit, the test would exceed its own.
    private static let patience = ClientSetting { $0.options.timeout.connect = .seconds(300) }

    @Test(arguments: Lane.engines) func `tries eight refused addresses before the one that responds`(_ lane: Lane)
      async throws
    {
      let server = try MockServer(.ok("here"))
      let client = lane.client(.resolve(["several.example": Self.refused + ["127.0.0.1"]]), Self.patience)

      let response = try await client.get("http://several.example:\(server.port)/")

      #expect(response.text == "here")
      #expect(response.connection?.remoteAddress == "127.0.0.1")
    }

    @Test(arguments: Lane.engines) func `fails if all addresses are refused`(_ lane: Lane) async throws {
      let server = try MockServer(.ok())
      let port = server.stopAndHoldPort()

      let error = await #expect(throws: HTTPError.self) {
        try await lane.client(.resolve(["several.example": Self.refused]), Self.patience).get(
          "http://several.example:\(server.port)/")
      }

      #expect(error?.kind == .cannotConnect)
      withExtendedLifetime(port) {}
    }

    @Test(arguments: Lane.engines) func `skips silent addresses before the one that responds`(_ lane: Lane) async throws
    {
      let server = try MockServer(.ok("here"))
      let silent = [try BlackHole(port: server.port, host: 2), try BlackHole(port: server.port, host: 3)]
      let client = lane.client(
        .resolve(["several.example": ["127.0.0.2", "127.0.0.4", "127.0.0.3", "127.0.0.1"]]), Self.patience)

      let first = try await client.get("http://several.example:\(server.port)/")
      let second = try await client.post("http://several.example:\(server.port)/", body: .text("a"))

      #expect(first.text == "here" && second.text == "here")
      #expect(first.connection?.remoteAddress == "127.0.0.1" && first.connection?.isReused == false)
      #expect(second.connection?.remoteAddress == "127.0.0.1")
      #expect(server.connectionCount <= 2)
      withExtendedLifetime(silent) {}
    }

    @Test(arguments: Lane.engines) func `many concurrent requests skip a silent address`(_ lane: Lane) async throws {
      let server = try MockServer(.ok("here"))
      let silent = try BlackHole(port: server.port, host: 2)
      let client = lane.client(.resolve(["several.example": ["127.0.0.2", "127.0.0.1"]]), Self.patience)

      let texts = try await withThrowingTaskGroup(of: String?.self) { group in
        for _ in 0..<20 { group.addTask { try await client.get("http://several.example:\(server.port)/").text } }
        return try await group.reduce(into: []) { $0.append($1) }
      }

      #expect(texts == Array(repeating: "here", count: 20))
      withExtendedLifetime(silent) {}
    }

    @Test(.needs(.openssl, .nginx), arguments: Lane.engines)
    func `skips a silent address before a TLS server`(_ lane: Lane) async throws {
      let authority = try await CertificateAuthority()
      let root = authority.root
      let server = try await NginxServer(try await authority.identity(for: "DNS:several.example"), isHTTP2: true)
      let port = try #require(URL(string: server.url)?.port)
      let silent = try BlackHole(port: port, host: 2)
      let client = lane.client(.resolve(["several.example": ["127.0.0.2", "127.0.0.1"]]), Self.patience) {
        $0.tls = .customRoots(pem: root)
      }

      let first = try await client.get("https://several.example:\(port)/")
      let second = try await client.get("https://several.example:\(port)/")

      #expect(first.text == "ok" && second.text == "ok")
      #expect(second.connection?.isReused == true && second.connection?.remoteAddress == "127.0.0.1")
      withExtendedLifetime(silent) {}
    }

    @Test(arguments: Lane.engines) func `skips a silent address of a proxy`(_ lane: Lane) async throws {
      let proxy = try MockServer(.ok("through"))
      let silent = try BlackHole(port: proxy.port, host: 2)
      let client = lane.client(.resolve(["several.example": []]), Self.patience) {
        $0.resolve = ["proxy.example": ["127.0.0.2", "127.0.0.1"]]
        $0.proxy = .proxy(Proxy("http://proxy.example:\(proxy.port)"))
      }

      let response = try await client.get("http://several.example/")

      #expect(response.text == "through")
      withExtendedLifetime(silent) {}
    }

    @Test(arguments: Lane.engines) func `does not try an address that is not allowed`(_ lane: Lane) async throws {
      let server = try MockServer(.ok())
      let silent = try BlackHole(port: server.port, host: 2)
      let client = lane.client(.resolve(["several.example": ["127.0.0.2", "127.0.0.1"]]), Self.patience) {
        $0.guards = [.publicAddressesOnly(except: ["127.0.0.2"])]
        $0.options.timeout.connect = .seconds(1)
      }

      let error = await #expect(throws: HTTPError.self) {
        try await client.get("http://several.example:\(server.port)/")
      }

      #expect(error?.kind == .timedOut)
      #expect(server.connectionCount == 0)
      withExtendedLifetime(silent) {}
    }

    @Test(arguments: Lane.engines) func `addresses that are not allowed do not delay an allowed one`(_ lane: Lane)
      async throws
    {
      let server = try MockServer(.ok("here"))
      let client = lane.client(.resolve(["several.example": Self.refused + ["127.0.0.1"]]), Self.patience) {
        $0.guards = [.publicAddressesOnly(except: ["127.0.0.1"])]
      }

      #expect(try await client.get("http://several.example:\(server.port)/").text == "here")
    }

    @Test func `closes all sockets of a race with its request`() async throws {
      await #expect(processExitsWith: .success) {
        let server = try MockServer(.ok("here"))
        let silent = (2...5).map { try? BlackHole(port: server.port, host: $0) }
        let client = Lane.curl.client { $0.resolve = ["several.example": (2...5).map { "127.0.0.\($0)" }] }
        let url: RequestTarget = "http://several.example:\(server.port)/"
        _ = try? await client.get(RequestTarget(server.url))
        let before = ProcessFacts.descriptorCount

        for _ in 0..<3 {
          let error = await #expect(throws: HTTPError.self) {
            try await client.get(url, options: .timeout(.milliseconds(900)))
          }
          #expect(error?.kind == .timedOut)
        }

        #expect(await becomes { ProcessFacts.descriptorCount <= before })
        withExtendedLifetime(silent) {}
      }
    }
  }
#endif
