#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  @Suite(.hangLimit) struct PublicAddressesTests {
    private func refusal(_ client: HTTPClient, _ url: String) async -> HTTPError? {
      await #expect(throws: HTTPError.self) { try await client.get(RequestTarget(url)) }
    }

    private func expectRefusal(_ error: HTTPError?, _ host: String, _ address: String, _ use: AddressUse) {
      #expect(error?.kind == .refusedByGuard)
      #expect(error?.message == "publicAddressesOnly refuses \(host): \(address) is \(use.rawValue)")
      #expect(error?.phase == .connecting && error?.mayHaveReachedServer == false)
      #expect(error?.attempts.count == 1)
    }

    @Test(.needs(.ipv6), arguments: Lane.engines) func `refuses loopback and unspecified addresses in every spelling`(
      _ lane: Lane
    ) async throws {
      let server = try MockServer(.ok("secret"))
      let client = lane.client(.guards([.publicAddressesOnly]), .redirects(.follow)) { $0.retry = .backoff() }

      expectRefusal(await refusal(client, server.url), "127.0.0.1", "127.0.0.1", .loopback)
      expectRefusal(
        await refusal(client, "http://[::ffff:127.0.0.1]:\(server.port)/"), "[::ffff:127.0.0.1]", "::ffff:7f00:1",
        .loopback)
      expectRefusal(await refusal(client, "http://[::1]:\(server.port)/"), "[::1]", "::1", .loopback)
      expectRefusal(await refusal(client, "http://0.0.0.0:\(server.port)/"), "0.0.0.0", "0.0.0.0", .unspecified)
      // This host name must be resolved first.
      let looked = await refusal(client, "http://localhost:\(server.port)/")
      #expect(looked?.kind == .refusedByGuard)
      #expect(server.connectionCount == 0)
    }

    @Test(.needs(.ipv6), arguments: Lane.engines)
    func `refuses cloud metadata, private, link-local and multicast addresses`(
      _ lane: Lane
    ) async {
      let client = lane.client(.guards([.publicAddressesOnly]), .redirects(.follow))

      for (address, use) in [
        ("169.254.169.254", AddressUse.metadata), ("10.0.0.1", .private), ("192.168.1.1", .private),
        ("fd00:ec2::254", .metadata), ("fe80::1", .linkLocal), ("224.0.0.1", .multicast),
      ] {
        let host = address.contains(":") ? "[\(address)]" : address
        expectRefusal(await refusal(client, "http://\(host)/latest/"), host, address, use)
      }
    }

    @Test(arguments: Lane.engines) func `refuses a redirect to a loopback address`(_ lane: Lane) async throws {
      let inner = try MockServer(.ok("secret"))
      let outer = try MockServer { _ in .redirect(to: "http://127.0.0.2:\(inner.port)/", status: 307) }
      let client = lane.client(.guards([.publicAddressesOnly(except: ["127.0.0.1"])]), .redirects(.follow))

      let error = await refusal(client, outer.url)

      expectRefusal(error, "127.0.0.2", "127.0.0.2", .loopback)
      #expect(error?.url?.host() == "127.0.0.2")
      #expect(outer.requests.count == 1 && inner.connectionCount == 0)
    }

    @Test(.needs(.ipv6), arguments: Lane.engines)
    func `refuses a host name that now resolves to a loopback address`(_ lane: Lane) async throws {
      let server = try MockServer(.ok("x"))
      let client = lane.client(.guards([.publicAddressesOnly(except: ["127.0.0.1/32"])]), .redirects(.follow)) {
        $0.resolve = ["rebound.example": ["127.0.0.1"]]
      }
      let url = "http://rebound.example:\(server.port)/"
      #expect(try await client.get(RequestTarget(url)).text == "x")

      let rebound = client.derived { $0.resolve = ["rebound.example": ["127.0.0.2", "::1"]] }
      let error = await refusal(rebound, url)

      // The address that libcurl tries first depends on its version.
      let address = error?.message.contains("::1") == true ? "::1" : "127.0.0.2"
      expectRefusal(error, "rebound.example", address, .loopback)
      #expect(server.connectionCount == 1)
    }

    @Test(.needs(.ipv6), arguments: Lane.engines) func `allows exceptions, and skips the other addresses of a host`(
      _ lane: Lane
    )
      async throws
    {
      let server = try MockServer(.ok("x"))
      let client = lane.client(.guards([.publicAddressesOnly(except: ["127.0.0.0/24"])]), .redirects(.follow)) {
        $0.resolve = ["a.example": ["10.0.0.1", "127.0.0.1"], "b.example": ["::1", "127.0.1.1"]]
      }

      let response = try await client.get(RequestTarget("http://a.example:\(server.port)/"))
      let closed = await refusal(client, "http://a.example:\(try MockServer.refusedPort())/")
      let refused = await refusal(client, "http://b.example:\(server.port)/")

      #expect(response.connection?.remoteAddress == "127.0.0.1")
      // An allowed address that does not respond is not a matter for the guard.
      #expect(closed?.kind == .cannotConnect)
      #expect(refused?.kind == .refusedByGuard)
      // libcurl decides whether IPv4 or IPv6 is tried first.
      #expect(refused?.message.hasSuffix("is a loopback address") == true)
      #expect(server.connectionCount == 1)
    }

    @Test(arguments: Lane.engines)
    func `never reuses a connection of a client without the guard, and reuses its own`(_ lane: Lane) async throws {
      let server = try MockServer(.ok("x"))
      let open = lane.client()
      _ = try await open.get(RequestTarget(server.url))

      let guarded = open.derived { $0.guards = [.publicAddressesOnly] }
      let error = await refusal(guarded, server.url)
      let excepted = open.derived { $0.guards = [.publicAddressesOnly(except: ["127.0.0.1"])] }
      let first = try await excepted.get(RequestTarget(server.url))
      let second = try await excepted.get(RequestTarget(server.url))

      expectRefusal(error, "127.0.0.1", "127.0.0.1", .loopback)
      #expect(first.connection?.isReused == false && second.connection?.isReused == true)
      #expect(server.connectionCount == 2)
    }

    @Test(arguments: Lane.engines) func `refuses an upload before its body is read`(_ lane: Lane) async throws {
      let server = try MockServer(.ok("x"))
      let client = lane.client(.guards([.publicAddressesOnly]), .redirects(.follow))

      let error = await #expect(throws: HTTPError.self) {
        try await client.post(
          RequestTarget(server.url), body: .stream(UploadPieces(Data(count: 10), count: 3)))
      }

      #expect(error?.kind == .refusedByGuard)
      #expect(server.connectionCount == 0)
    }

    @Test(arguments: Lane.engines) func `allows or refuses each of 100 concurrent requests correctly`(_ lane: Lane)
      async throws
    {
      let server = try MockServer(.ok("x"))
      let client = lane.client(.guards([.publicAddressesOnly(except: ["127.0.0.1"])]), .redirects(.follow))

      let kinds = await withTaskGroup(of: HTTPError.Kind?.self) { group in
        for number in 0..<100 {
          group.addTask {
            do {
              _ = try await client.get("http://127.0.0.\(number % 2 + 1):\(server.port)/")
              return nil
            } catch { return (error as? HTTPError)?.kind }
          }
        }
        return await group.reduce(into: [HTTPError.Kind?]()) { $0.append($1) }
      }

      #expect(kinds.count { $0 == nil } == 50)
      #expect(kinds.count { $0 == .refusedByGuard } == 50)
      #expect(server.requests.count == 50)
    }

    @Test(arguments: Lane.engines) func `refuses requests through a proxy, and allows those that bypass it`(
      _ lane: Lane
    ) async throws {
      let server = try MockServer(.ok("x"))
      let proxy = try MockServer(.ok("proxy"))
      let client = lane.client(.guards([.publicAddressesOnly(except: ["127.0.0.1"])]), .redirects(.follow)) {
        $0.proxy = .proxy(Proxy(proxy.url), except: ["127.0.0.1"])
      }

      let error = await refusal(client, "http://a.example/")
      let direct = try await client.get(RequestTarget(server.url))

      #expect(error?.kind == .unsupported)
      #expect(error?.message.contains("publicAddressesOnly cannot see where the proxy") == true)
      #expect(direct.text == "x" && proxy.connectionCount == 0)
    }

    #if canImport(Darwin) || URLSession
      @Test func `is unsupported by the system's loader, and the error names .curl`() async throws {
        let server = try MockServer(.ok("x"))
        let loaders: [any Transport] = [.systemLoader, .urlSession(loader: .system)]

        for transport in loaders {
          let client = HTTPClient {
            $0.transport = transport
            $0.guards = [.publicAddressesOnly(except: ["127.0.0.1"])]
          }
          let error = await refusal(client, server.url)
          #expect(error?.kind == .unsupported)
          #expect(error?.message.contains("publicAddressesOnly") == true && error?.message.contains(".curl") == true)
        }
        #expect(server.connectionCount == 0)
      }
    #endif
  }
#endif
