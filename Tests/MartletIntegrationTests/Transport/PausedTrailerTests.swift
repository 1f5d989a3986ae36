#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import Martlet

  /// Trailers that arrive while the reader's buffer is full: libcurl before 8.7 keeps them and delivers them all at
  /// once.
  @Suite(.hangLimit) struct PausedTrailerTests {
    /// Bytes that gzip cannot compress.
    private static let body: Data = {
      var generator = SeededGenerator(seed: 13)
      return Data(count: 300_000) { _ in UInt8(truncatingIfNeeded: generator.next()) }
    }()

    private static func answer(_ trailers: [String]) throws -> Data {
      var answer = Data("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
      var rest = try Compressor.compress(body, .gzip)[...]
      while !rest.isEmpty {
        let chunk = rest.prefix(20_000)
        rest = rest.dropFirst(chunk.count)
        answer += Data("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + Data("\r\n".utf8)
      }
      return answer + Data(("0\r\n" + trailers.map { $0 + "\r\n" }.joined() + "\r\n").utf8)
    }

    private static func serve(_ trailers: [String]) async throws -> SteppedServer {
      let server = try SteppedServer()
      let answer = try answer(trailers)
      Task {
        try await server.request()
        try await server.send(answer)
      }
      return server
    }

    @Test(arguments: Lane.engines) func `reads several trailers as separate fields`(_ lane: Lane) async throws {
      let server = try await Self.serve(["X-One: 1", "X-Two: 2", "X-Three: 3"])
      let client = lane.client()

      let response = try await client.get(server.target)

      #expect(response.body == Self.body)
      #expect(response.trailers == ["X-One": "1", "X-Two": "2", "X-Three": "3"])
    }

    @Test(arguments: Lane.engines) func `trailers do not block a slow reader`(_ lane: Lane) async throws {
      let server = try await Self.serve(["X-One: 1", "X-Two: 2"])

      let count = try await lane.client().stream(.get(server.target)) { response in
        // Waits until the buffer is full.
        try await Task.sleep(for: .milliseconds(200))
        var count = 0
        for try await piece in response.body { count += piece.count }
        return count
      }

      #expect(count == Self.body.count)
    }

    /// With one connection per host, the stream may share its connection.
    @Test(.needsHTTP2Server, arguments: Lane.engines, [6, 1])
    func `delivers HTTP/2 trailers to a slow reader`(_ lane: Lane, perHost: Int) async throws {
      let authority = try await CertificateAuthority()
      let server = try await HTTP2Server(try await authority.identity())
      let client = lane.client { [root = authority.root] in
        $0.tls = .customRoots(pem: root)
        $0.maximumConnectionsPerHost = perHost
      }

      for (number, pause) in [[], ["wait:100"]].enumerated() {
        let steps = ["head", "128*fill:16384"] + pause + ["trailer:x-one=1:x-two=2"]
        let (count, trailers) = try await client.stream(.get(server.target(number, steps))) { response in
          // Waits until the buffer is full and the trailers have arrived.
          try await Task.sleep(for: .milliseconds(300))
          var count = 0
          for try await piece in response.body {
            count += piece.count
            if count < 1 << 20 { try await Task.sleep(for: .milliseconds(1)) }
          }
          return (count, response.trailers)
        }

        #expect(count == 128 << 14)
        #expect(trailers == ["x-one": "1", "x-two": "2"])
      }
    }

    @Test(arguments: Lane.engines) func `an invalid trailer ends the transfer`(_ lane: Lane) async throws {
      let server = try await Self.serve(["X-One: 1", "X-Two: \0"])

      let error = try await #require(throws: HTTPError.self) {
        try await lane.client().stream(.get(server.target)) { response in
          try await Task.sleep(for: .milliseconds(200))
          for try await _ in response.body {}
        }
      }

      #expect(error.kind == .protocolViolation, "\(error)")
    }
  }
#endif
