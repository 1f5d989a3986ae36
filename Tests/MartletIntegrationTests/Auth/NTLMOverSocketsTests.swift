#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// Windows accounts, verified by Samba, over HTTP and TLS.
  @Suite(.needsSamba, .sambaServer, .hangLimit) struct NTLMOverSocketsTests {
    private static func client(
      _ lane: Lane, _ server: SambaServer, _ credential: Credential?, _ notes: StatusNotes = StatusNotes(),
      through proxy: ProxySettings = .direct
    ) -> HTTPClient {
      lane.client {
        $0.tls = .customRoots(pem: server.root)
        $0.exchangeMiddleware = [notes]
        $0.proxy = proxy
        for isSecure in [true, false] {
          $0.authenticators[.origin(server.origin(isSecure: isSecure))] = credential.map {
            Authenticators.CredentialAuthenticator($0)
          }
        }
      }
    }

    private static func ada(_ password: String = SambaServer.password, isSecure: Bool = true) -> Credential {
      .user("ada", password: password, domain: "CORP", isAllowedWithoutTLS: !isSecure)
    }

    @Test(arguments: Lane.engines, [true, false])
    func `authenticates to Samba for each request on its own connection`(lane: Lane, isSecure: Bool)
      async throws
    {
      let server = try #require(SambaServer.current)
      let path = "/each/\(lane)/\(isSecure)"
      let url = server.url(path, isSecure: isSecure)
      let notes = StatusNotes()
      let client = Self.client(lane, server, Self.ada(isSecure: isSecure), notes)
      let pieces = AsyncStream<Data> {
        for _ in 0..<10 { $0.yield(Data(repeating: 1, count: 30_000)) }
        $0.finish()
      }

      let first = try await client.get(url)
      let second = try await client.post(url, body: .data(Data(repeating: 1, count: 300_000)))
      let third = try await client.put(url, body: .stream(pieces))

      #expect([first, second, third].map(\.text) == ["CORP\\ada 0", "CORP\\ada 300000", "CORP\\ada 300000"])
      #expect(notes.all == [401, 200, 200, 200])
      let entries = try server.entries(path)
      #expect(entries.map(\.step) == [0, 1, 3, 1, 3, 1, 3])
      #expect(entries.map(\.size) == [0, 0, 0, 0, 300_000, 0, 300_000])
      #expect(Set(entries.map(\.connection)).count == 4)
    }

    @Test(arguments: Lane.engines, [true, false])
    func `returns the 401 for an unknown account or a wrong password`(lane: Lane, isSecure: Bool) async throws {
      let server = try #require(SambaServer.current)
      let path = "/refused/\(lane)/\(isSecure)"
      let url = server.url(path, isSecure: isSecure)
      let eve = Credential.user(
        "eve", password: SambaServer.password, domain: "CORP", isAllowedWithoutTLS: !isSecure)

      for credential in [Self.ada("wrong", isSecure: isSecure), Self.ada("", isSecure: isSecure), eve] {
        let response = try await Self.client(lane, server, credential).get(url)
        #expect(response.status == .unauthorized && response.text == "who are you?")
      }

      let entries = try server.entries(path)
      #expect(entries.map(\.step) == [0, 1, 3, 0, 1, 3, 0, 1, 3])
      #expect(entries.allSatisfy { $0.user == nil })
    }

    @Test(arguments: Lane.engines) func `authenticates a local account with an empty domain`(lane: Lane) async throws {
      let server = try #require(SambaServer.current)
      let credential = Credential.user("ada", password: SambaServer.password, domain: "")

      let response = try await Self.client(lane, server, credential).get(server.url("/local", isSecure: true))

      #expect(response.text == "\\ada 0")
    }

    @Test(arguments: Lane.engines) func `a password may contain Western European letters, composed or decomposed`(
      lane: Lane
    ) async throws {
      let server = try #require(SambaServer.current)
      let url = server.url("/latin", isSecure: true)
      // The same password in decomposed form (NFD).
      let apart = SambaServer.latinPassword.decomposedStringWithCanonicalMapping

      let first = try await Self.client(lane, server, Self.ada(SambaServer.latinPassword)).get(url)
      let second = try await Self.client(lane, server, Self.ada(apart)).get(url)

      #expect(first.text == "CORP\\ada 0" && second.text == "CORP\\ada 0")
    }

    @Test(arguments: Lane.engines)
    func `rejects account names and passwords that libcurl would encode wrongly`(lane: Lane) async throws {
      let server = try #require(SambaServer.current)
      let path = "/letters/\(lane)"

      for (user, password, domain) in [
        ("ada", "canary\u{142}", "CORP"), ("j\u{FC}rgen", "canary", "CORP"), ("ada", "canary", "K\u{D6}LN"),
      ] {
        let credential = Credential.user(user, password: password, domain: domain)
        let error = await #expect(throws: HTTPError.self) {
          try await Self.client(lane, server, credential).get(server.url(path, isSecure: true))
        }
        #expect(error?.kind == .invalidRequest && error?.message.contains("ISO 8859-1") == true)
        #expect(error?.description.contains("canary") == false)
      }

      #expect(try server.entries(path).map(\.step) == [0, 0, 0])
    }

    @Test(arguments: Lane.engines, [true, false])
    func `two accounts never share a connection`(lane: Lane, isSecure: Bool) async throws {
      let server = try #require(SambaServer.current)
      let path = "/mixed/\(lane)/\(isSecure)"
      let url = server.url(path, isSecure: isSecure)
      let client = Self.client(lane, server, nil)

      let texts = try await withThrowingTaskGroup { group in
        for number in 0..<12 {
          group.addTask {
            let user = ["ada", "bob", "cyd"][number % 3]
            let credential = Credential.user(
              user, password: SambaServer.password, domain: "CORP", isAllowedWithoutTLS: !isSecure)
            // Every third request has no credentials.
            let options = user == "cyd" ? RequestOptions() : RequestOptions.credential(credential)
            let response = try await client.get(url, options: options)
            return "\(user) \(response.status.rawValue) \(response.text)"
          }
        }
        return try await group.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
      }

      #expect(texts == ["ada 200 CORP\\ada 0": 4, "bob 200 CORP\\bob 0": 4, "cyd 401 who are you?": 4])
      let entries = try server.entries(path)
      let proved = Set(entries.filter { $0.step > 0 }.map(\.connection))
      #expect(proved.count == 8)
      #expect(proved.isDisjoint(with: entries.filter { $0.step == 0 }.map(\.connection)))
    }

    @Test(.needsSquid, arguments: Lane.engines)
    func `authenticates through the tunnel of a proxy that requires Basic`(lane: Lane) async throws {
      let server = try #require(SambaServer.current)
      let squid = try await SquidProxy.Running()
      let proxy = Proxy(squid.facts.url(.basic), user: "ada", password: SquidProxy.password)
      let path = "/tunnel/\(lane)"
      let url = server.url(path, isSecure: true)
      let client = Self.client(lane, server, Self.ada(), through: .proxy(proxy))

      let first = try await client.get(url)
      let second = try await client.post(url, body: .data(Data(repeating: 1, count: 300_000)))

      #expect([first, second].map(\.text) == ["CORP\\ada 0", "CORP\\ada 300000"])
      let entries = try server.entries(path)
      #expect(entries.map(\.step) == [0, 1, 3, 1, 3] && Set(entries.map(\.connection)).count == 3)
      withExtendedLifetime(squid) {}
    }
  }
#endif
