#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  @Suite(.needs(.openssl, .nginx), .hangLimit) struct TLSConnectionTests {
    /// Returns the numbers of the connections used, all values of another field, and the HTTP versions.
    private func answers(
      _ client: HTTPClient, _ url: String, count: Int, field: String = "X-Reused"
    ) async throws -> (connections: Set<String>, values: Set<String>, versions: Set<String>) {
      try await withThrowingTaskGroup { group in
        for _ in 0..<count { group.addTask { try await client.get(RequestTarget(url)) } }
        var found: (connections: Set<String>, values: Set<String>, versions: Set<String>) = ([], [], [])
        for try await response in group {
          found.connections.insert(response.headers["X-Connection"] ?? "")
          found.values.insert(response.headers[field] ?? "")
          found.versions.insert(response.httpVersion?.description ?? "")
        }
        return found
      }
    }

    @Test(.needs(.http2)) func `multiplexes 50 requests over at most three HTTP/2 connections`() async throws {
      let authority = try await CertificateAuthority()
      let server = try await NginxServer(try await authority.identity(), isHTTP2: true)

      let found = try await answers(
        Lane.curl.client(.tls(.customRoots(pem: authority.root)), .maximumConnectionsPerHost(50)), server.url, count: 50
      )

      #expect(found.versions == ["2"])
      #expect(found.connections.count <= 3)
    }

    /// In a single call, libcurl may finish one request and send another one on its connection.
    @Test func `48 concurrent HTTP/1.1 requests use at most 48 connections`() async throws {
      let authority = try await CertificateAuthority()
      // However long a busy machine takes, no connection may be closed for being idle.
      let server = try await NginxServer(
        try await authority.identity(), "keepalive_requests 1000000; keepalive_timeout 3600s;")
      let client = Lane.curl.client { [root = authority.root] in
        $0.tls = .customRoots(pem: root)
        $0.maximumConnectionsPerHost = 48
        $0.idleConnectionLifetime = .seconds(3600)
      }

      let connections = try await withThrowingTaskGroup { group in
        for _ in 0..<48 {
          group.addTask {
            var connections: Set<String> = []
            for _ in 0..<60 {
              connections.insert(try await client.get(RequestTarget(server.url)).headers["X-Connection"] ?? "")
            }
            return connections
          }
        }
        return try await group.reduce(into: Set<String>()) { $0.formUnion($1) }
      }

      #expect(connections.count <= 48)
    }

    @Test(.needs(.curlWithOpenSSL)) func `resumes TLS sessions and reports the handshake time`() async throws {
      let authority = try await CertificateAuthority()
      let client = Lane.curl.client(.tls(.customRoots(pem: authority.root)))
      for version in ["-tls1_2", "-tls1_3"] {
        let server = try await OpenSSLServer(try await authority.identity(), version)
        let first = try await client.get(RequestTarget(server.url))
        let second = try await client.get(RequestTarget(server.url))

        #expect(first.text.contains("New, TLSv1"))
        #expect(second.text.contains("Reused, TLSv1"))
        #expect(second.timing.tls ?? .zero > .zero)
      }

      // libcurl requests no TLS 1.2 tickets, so the server must remember the session.
      let server = try await NginxServer(
        try await authority.identity(), "keepalive_timeout 0;", "ssl_session_cache shared:sessions:1m;")
      var reused: [String?] = []
      for _ in 0..<2 { reused.append(try await client.get(RequestTarget(server.url)).headers["X-Reused"]) }
      #expect(reused == [".", "r"])
    }

    // MARK: Separate trust

    @Test func `clients with different trust share no connections or TLS sessions`() async throws {
      let authority = try await CertificateAuthority()
      let server = try await NginxServer(try await authority.identity())
      let insecure = Lane.curl.client(.tls(.insecureTrustAnything))
      let strict = Lane.curl.client(.tls(.customRoots(pem: authority.root)))

      var seen: [Set<String>] = [[], []]
      for _ in 0..<5 {
        for (index, client) in [insecure, strict].enumerated() {
          let found = try await answers(client, server.url, count: 4)
          if seen[index].isEmpty { #expect(!found.values.contains("r")) }
          seen[index].formUnion(found.connections)
        }
      }

      #expect(seen[0].isDisjoint(with: seen[1]))
      await TLSTrustTests.expectRefusal(.system, server.url, saying: "unable to get local issuer certificate")
    }

    @Test func `a client does not reuse connections or TLS sessions after its trust changes`() async throws {
      let authority = try await CertificateAuthority()
      let server = try await NginxServer(try await authority.identity())
      let client = Lane.curl.client(.tls(.insecureTrustAnything))
      let target = RequestTarget(server.url)
      let before = try await client.get(target)
      let kept = try await client.get(target)
      #expect(kept.headers["X-Connection"] == before.headers["X-Connection"])

      await client.update { $0.tls = .system }
      let error = await #expect(throws: HTTPError.self) { try await client.get(target) }
      #expect(error?.kind == .tls)
      let tls = TLSSettings.customRoots(pem: authority.root)
      let derived = client.derived { $0.tls = tls }
      let after = try await derived.get(target)
      #expect(after.headers["X-Connection"] != before.headers["X-Connection"])
      #expect(after.headers["X-Reused"] == ".")
    }

    // MARK: Performance

    @Test(.stressOnly) func `parses the root certificates once instead of for each connection`() async throws {
      let authority = try await CertificateAuthority()
      let server = try await NginxServer(try await authority.identity(), "keepalive_timeout 0;")
      let one = try authority.rootPEM
      var many = Data()
      for _ in 0..<500 { many += one }
      let clients = [Lane.curl.client(.tls(.customRoots(pem: one))), Lane.curl.client(.tls(.customRoots(pem: many)))]

      var times: [Duration] = [.seconds(60), .seconds(60)]
      for client in clients { _ = try await client.get(RequestTarget(server.url)) }
      for _ in 0..<3 {
        for (index, client) in clients.enumerated() {
          let start = ContinuousClock.now
          for _ in 0..<20 { _ = try await client.get(RequestTarget(server.url)) }
          times[index] = min(times[index], ContinuousClock.now - start)
        }
      }

      // Parsing the roots takes far longer than the rest of a connection.
      #expect(times[1] < times[0] * 4)
    }
  }
#endif
