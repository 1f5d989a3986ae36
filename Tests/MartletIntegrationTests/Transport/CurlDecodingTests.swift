#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import CurlEngine
  @testable import Martlet

  @Suite(.hangLimit) struct CurlDecodingTests {
    private static let text = CodedBodies.text
    private static let gzip = CodedBodies.gzip

    private let client = HTTPClient {
      $0.transport = .curl
      $0.retry = .off
    }

    private func get(_ body: Data, _ coding: String, status: Int = 200) async throws -> HTTPResponse {
      let server = try MockServer(.data(body, status: status, headers: ["Content-Encoding": coding]))
      return try await client.get(RequestTarget(server.url))
    }

    @Test func `decodes each coding and chains of codings`() async throws {
      for (coding, body) in CodedBodies.usable {
        let response = try await get(body, coding.uppercased())
        #expect(response.text == Self.text, "\(coding)")
        #expect(!response.headers.contains("Content-Encoding"))
        #expect(!response.headers.contains("Content-Length"))
      }
      #expect(try await get(Self.gzip, "identity, gzip").text == Self.text)
      if ContentCoding.usable == ContentCoding.allCases {
        let response = try await get(CodedBodies.gzipThenBrotliThenZstd, "gzip, br, zstd")
        #expect(response.text == String(repeating: "martlet ", count: 200))
      }
    }

    @Test func `decodes a body that arrives byte by byte`() async throws {
      let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(Self.gzip.count)\r\n\r\n"
      let server = try MockServer(
        .steps([.text(head), .drip(Self.gzip, chunk: 1, every: .milliseconds(1))]))
      #expect(try await client.get(RequestTarget(server.url)).text == Self.text)
    }

    @Test func `decodes all gzip members and ignores trailing data`() async throws {
      #expect(try await get(Self.gzip + CodedBodies.gzipOfSecond, "gzip").text == Self.text + "second")
      #expect(try await get(Self.gzip + Data("trash".utf8), "gzip").text == Self.text)
    }

    @Test func `accepts an empty body with a Content-Encoding`() async throws {
      #expect(try await get(Data(), "gzip").body.isEmpty)
    }

    @Test func `fails for a truncated encoded body`() async throws {
      for (coding, whole) in CodedBodies.usable {
        for count in [1, 2, whole.count / 2, whole.count - 1] {
          let error = await #expect(throws: HTTPError.self) { try await get(whole.prefix(count), coding) }
          #expect(error?.kind == .protocolViolation, "\(coding) \(count)")
        }
      }
    }

    @Test func `fails for a corrupt encoded body`() async throws {
      for (index, coding) in [(0, "gzip"), (14, "gzip"), (Self.gzip.count - 6, "gzip"), (2, "deflate")] {
        var body = coding == "gzip" ? Self.gzip : CodedBodies.zlib
        body[index] ^= 0xFF
        let error = await #expect(throws: HTTPError.self) { try await get(body, coding) }
        #expect(error?.kind == .protocolViolation, "\(coding) \(index)")
      }
    }

    @Test(.enabled(if: ContentCoding.usable.contains(.zstd), "libcurl has no zstd"))
    func `delivers a decoding error that occurs after the reader made room`() async throws {
      // The body exceeds what the reader receives at once and then has an error, while the server sends nothing more.
      let body = CodedBodies.zstdOfMebibyte + Data("?".utf8)
      let head = "HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\nContent-Length: 1000\r\n\r\n"
      let server = try MockServer(.steps([.text(head), .bytes(body), .hang]))
      defer { server.stop() }
      let options = RequestOptions.timeout(.unlimited)
      let count = try await client.stream(.get(RequestTarget(server.url)), options: options) { response in
        var count = 0
        let error = await #expect(throws: HTTPError.self) {
          for try await piece in response.body {
            count += piece.count
            try await Task.sleep(for: .milliseconds(20))
          }
        }
        #expect(error?.kind == .protocolViolation)
        return count
      }
      #expect(count > 256 << 10)
      #expect(await server.waitForOpenConnections(atMost: 0))
    }

    @Test func `does not decode unknown codings, empty responses or partial content`() async throws {
      let unknown = try await get(Data("?".utf8), "zz")
      #expect(unknown.text == "?")
      #expect(unknown.headers["Content-Encoding"] == "zz")
      for (method, status) in [(HTTPMethod.head, 200), (.get, 204), (.get, 304)] {
        let server = try MockServer(.empty(status, headers: ["Content-Encoding": "gzip"]))
        let response = try await client.send(HTTPRequest(method, RequestTarget(server.url)))
        #expect(response.headers["Content-Encoding"] == "gzip", "\(method) \(status)")
        #expect(response.body.isEmpty)
      }
      let part = try await get(Self.gzip.prefix(20), "gzip", status: 206)
      #expect(part.body == Self.gzip.prefix(20))
      #expect(part.headers["Content-Encoding"] == "gzip")
    }

    @Test func `refuses six codings`() async throws {
      let error = await #expect(throws: HTTPError.self) {
        try await get(Self.gzip, "gzip, gzip, gzip, gzip, gzip, gzip")
      }
      #expect(error?.kind == .protocolViolation)
    }

    @Test func `sets Accept-Encoding unless the request does, and identity for ranges`() async throws {
      let server = try MockServer(.data(Self.gzip, headers: ["Content-Encoding": "gzip"]))
      let target = RequestTarget(server.url)
      _ = try await client.send(.get(target))
      _ = try await client.send(.get(target, headers: ["Range": "bytes=0-1"]))
      let answer = try await client.send(.get(target, headers: ["accept-encoding": "br"]))
      #expect(
        server.requests.map { $0.headers(named: "Accept-Encoding") } == [
          [ContentCoding.accepted], ["identity"], ["br"],
        ])
      #expect(ContentCoding.accepted.hasPrefix("gzip, deflate"))
      #expect(answer.text == Self.text)
    }
  }
#endif
