#if os(Linux)
  import Foundation
  import Martlet
  import TestSupport
  import Testing

  /// Streamed responses over HTTP/2 have separate connections, because a sleeping reader must not delay other requests.
  @Suite(.needs(.http2), .needs(.openssl, .nginx), .hangLimit) struct HTTP2StreamTests {
    /// Reads a streamed response and returns the name of its connection.
    private static func stream(_ client: HTTPClient, _ url: String) async throws -> String {
      try await client.stream(.get("\(raw: url)/")) { response in
        let name = response.headers["X-Connection"]
        let text = try await response.text(upTo: 100)
        #expect(text == "ok" && response.httpVersion == .http2)
        return name ?? ""
      }
    }

    @Test(arguments: Lane.engines) func `each streamed response has its own connection, and other requests share one`(
      _ lane: Lane
    ) async throws {
      let authority = try await CertificateAuthority()
      let server = try await NginxServer(try await authority.identity(), isHTTP2: true, "location /large {}")
      // The body is larger than any buffer, so it does not end while nothing reads it.
      let large = server.path("large")
      #expect(FileManager.default.createFile(atPath: large, contents: nil))
      let file = try FileHandle(forWritingTo: URL(filePath: large))
      try file.truncate(atOffset: 64 << 20)
      try file.close()
      let client = lane.client(.trusting(authority.root), .maximumConnectionsPerHost(50))
      let (open, others) = (Shared(0), Shared(Set<String>()))
      // With streams open, libcurl lets requests share a connection once it exists (decision 0045).
      _ = try await client.get("\(raw: server.url)/")

      let names = try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<20 {
          group.addTask {
            try await client.stream(.get("\(raw: server.url)/large")) { response in
              open.withLock { $0 += 1 }
              _ = await becomes { open.withLock { $0 } == 20 }
              let other = try await client.get("\(raw: server.url)/")
              others.withLock { _ = $0.insert(other.headers["X-Connection"] ?? "") }
              return response.headers["X-Connection"] ?? ""
            }
          }
        }
        return try await group.reduce(into: [String]()) { $0.append($1) }
      }

      #expect(Set(names).count == 20)
      let shared = others.withLock { $0 }
      #expect(shared.isDisjoint(with: names))
      #expect(shared.count == 1)
    }

    @Test(arguments: Lane.engines) func `sequential streams and downloads reuse one connection`(
      _ lane: Lane
    ) async throws {
      let authority = try await CertificateAuthority()
      let server = try await NginxServer(try await authority.identity(), isHTTP2: true)
      let client = lane.client(.trusting(authority.root), .maximumConnectionsPerHost(50))

      var names: Set<String> = []
      let folder = try TemporaryFolder()
      for number in 0..<20 {
        names.insert(try await Self.stream(client, server.url))
        let file = try await client.download("\(raw: server.url)/", to: URL(filePath: folder.path("\(number)")))
        names.insert(file.response.headers["X-Connection"] ?? "")
      }

      #expect(names.count == 1)
      let other = try await client.get("\(raw: server.url)/")
      #expect(names.first != other.headers["X-Connection"])
    }

    @Test(arguments: Lane.engines) func `streams share the only connection if the limit per host is 1`(
      _ lane: Lane
    ) async throws {
      let authority = try await CertificateAuthority()
      let server = try await NginxServer(try await authority.identity(), isHTTP2: true)
      let client = lane.client(.trusting(authority.root), .maximumConnectionsPerHost(1))

      let first = try await client.get("\(raw: server.url)/").headers["X-Connection"]

      #expect(try await Self.stream(client, server.url) == first)
      #expect(try await client.get("\(raw: server.url)/").headers["X-Connection"] == first)
    }

    @Test(arguments: Lane.engines) func `streams reuse the connections of other requests over HTTP/1.1`(_ lane: Lane)
      async throws
    {
      let authority = try await CertificateAuthority()
      let server = try await NginxServer(try await authority.identity())
      let client = lane.client(.trusting(authority.root), .maximumConnectionsPerHost(50))
      let first = try await client.get("\(raw: server.url)/")
      #expect(first.httpVersion == .http1_1)

      let name = try await client.stream(.get("\(raw: server.url)/")) { response in
        _ = try await response.text(upTo: 100)
        return response.headers["X-Connection"]
      }

      #expect(name == first.headers["X-Connection"])
      #expect(try await client.get("\(raw: server.url)/").headers["X-Connection"] == name)
    }
  }
#endif
