#if os(Linux)
  import Foundation
  import Martlet
  import TestSupport
  import Testing

  /// HTTP/1.1 and HTTP/2 connections to the same host at the same time.
  @Suite(.needsHTTP2Server, .hangLimit) struct MixedVersionsTests {
    private static func responses(
      _ numbers: Range<Int>, _ client: HTTPClient, _ server: HTTP2Server
    ) async throws -> [Int: HTTPResponse] {
      try await withThrowingTaskGroup(of: (Int, HTTPResponse).self) { group in
        for number in numbers {
          group.addTask { (number, try await client.get(server.target(number, ["head", "last:ok"]))) }
        }
        return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
      }
    }

    @Test(arguments: Lane.engines)
    func `no request is sent on a busy HTTP/1.1 connection`(_ lane: Lane) async throws {
      let authority = try await CertificateAuthority()
      // Simulates a load balancer whose servers differ.
      let server = try await HTTP2Server(try await authority.identity(), oldConnections: 1)
      let client = lane.client { [root = authority.root] in $0.tls = .customRoots(pem: root) }

      async let slow = client.get(server.target(1, ["until:40"]))
      #expect(await becomes { server.count(of: 1) == 1 })
      var responses = try await Self.responses(2..<3, client, server)
      responses.merge(try await Self.responses(3..<20, client, server)) { $1 }
      responses.merge(try await Self.responses(40..<41, client, server)) { $1 }
      let first = try await slow
      responses.merge(try await Self.responses(20..<40, client, server)) { $1 }

      #expect(first.text == "one" && first.headers["x-number"] == "1" && first.httpVersion == .http1_1)
      for (number, response) in responses {
        #expect(response.headers["x-number"] == "\(number)")
        #expect(response.text == (response.httpVersion == .http2 ? "ok" : "one"))
      }
      #expect(responses.count == 39 && server.repeatedNumbers.isEmpty)
      #expect(responses.allSatisfy { $0.key >= 20 || $0.value.httpVersion == .http2 })
      #expect(server.connectionCount(of: 1) == 1)
    }

    @Test(arguments: Lane.engines)
    func `requests that require HTTP/1.1 do not affect the shared HTTP/2 connection`(_ lane: Lane) async throws {
      let authority = try await CertificateAuthority()
      let server = try await HTTP2Server(try await authority.identity())
      let client = lane.client { [root = authority.root] in $0.tls = .customRoots(pem: root) }

      async let slow = client.get(server.target(1, ["wait:500"]), options: .httpVersion(.http1_1))
      #expect(await becomes { server.count(of: 1) == 1 })
      let responses = try await Self.responses(2..<30, client, server)
      let old = try await client.get(server.target(30, []), options: .httpVersion(.http1_1))
      let more = try await Self.responses(31..<50, client, server)

      #expect(try await slow.text == "one" && old.httpVersion == .http1_1)
      #expect(responses.merging(more) { $1 }.allSatisfy { $0.value.headers["x-number"] == "\($0.key)" })
      #expect(responses.merging(more) { $1 }.values.allSatisfy { $0.httpVersion == .http2 })
      #expect(server.repeatedNumbers.isEmpty && server.connectionCount() == 1)
    }

    @Test(arguments: Lane.engines, [1, 0])
    func `a POST whose shared connection closes is sent once`(
      _ lane: Lane, _ oldConnections: Int
    ) async throws {
      let authority = try await CertificateAuthority()
      let server = try await HTTP2Server(try await authority.identity(), oldConnections: oldConnections)
      let client = lane.client { [root = authority.root] in
        $0.tls = .customRoots(pem: root)
        $0.retry = .standard
      }

      async let lost: HTTPResponse? = try? client.post(
        server.target(1, ["early", "wait:600", "close"]), body: .text("x"))
      #expect(await becomes { server.count(of: 1) == 1 })
      let responses = try await Self.responses(2..<3, client, server)
      let more = try await Self.responses(3..<8, client, server)

      #expect(await lost == nil)
      #expect(responses.merging(more) { $1 }.allSatisfy { $0.value.headers["x-number"] == "\($0.key)" })
      #expect(server.count(of: 1) == 1)
    }

    /// HTTP_1_1_REQUIRED (RFC 9113 §7).
    @Test(arguments: Lane.engines, [0, 1, 30_000])
    func `a request reset with HTTP_1_1_REQUIRED is sent again over HTTP/1.1`(
      _ lane: Lane, _ bytes: Int
    ) async throws {
      let authority = try await CertificateAuthority()
      let server = try await HTTP2Server(try await authority.identity())
      let client = lane.client { [root = authority.root] in
        $0.tls = .customRoots(pem: root)
        $0.retry = .standard
      }
      func send(_ number: Int) async throws -> HTTPResponse {
        let target = server.target(number, ["reset:13"])
        guard bytes > 0 else { return try await client.get(target) }
        return try await client.post(target, body: .text(String(repeating: "x", count: bytes)))
      }

      let onNewConnection = try await send(1)
      let others = try await Self.responses(2..<20, client, server)
      let onUsedConnection = try await send(20)

      for (number, response) in [(1, onNewConnection), (20, onUsedConnection)] {
        #expect(response.httpVersion == .http1_1 && response.text == "one")
        #expect(server.count(of: number) == 2)
      }
      #expect(others.allSatisfy { $0.value.httpVersion == .http2 && $0.value.headers["x-number"] == "\($0.key)" })
    }
  }
#endif
