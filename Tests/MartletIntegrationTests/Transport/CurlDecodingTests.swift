#if os(Linux)
  import Foundation
  import MartletTesting
  import Testing

  @testable import Martlet

  @Suite(.oneAtATime, .serialized, .timeLimit(.minutes(1))) struct CurlDecodingTests {
    private static let text = String(repeating: "martlet ", count: 200)
    private static let gzip = coded("H4sIAAAAAAACA8tNLCrJSS1RyB2lR+lRepQepUdpEmgATlQvjEAGAAA=")
    private static let gzipOfSecond = coded("H4sIAAAAAAACAytOTc7PSwEAaREftgYAAAA=")
    private static let zlib = coded("eNrLTSwqyUktUcgdpUfpUXqUHqVHaRJoAHZea6c=")
    private static let bare = coded("y00sKslJLVHIHaVH6VF6lB6lR2kSaAA=")

    private let client = HTTPClient {
      $0.transport = .curl
      $0.retry = .none
    }

    private static func coded(_ base64: String) -> Data { Data(base64Encoded: base64) ?? Data() }

    private func get(_ body: Data, _ coding: String, status: Int = 200) async throws -> HTTPResponse {
      let server = try MockServer(.data(body, status: status, headers: ["Content-Encoding": coding]))
      return try await client.get(RequestTarget(server.url))
    }

    @Test func `decodes gzip, x-gzip, both forms of deflate, and chains of them`() async throws {
      #expect(!Self.gzip.isEmpty && !Self.gzipOfSecond.isEmpty && !Self.zlib.isEmpty && !Self.bare.isEmpty)
      for (body, coding) in [
        (Self.gzip, "gzip"), (Self.gzip, "X-GZip"), (Self.zlib, "deflate"), (Self.bare, "deflate"),
      ] {
        let response = try await get(body, coding)
        #expect(response.text == Self.text, "\(coding)")
        #expect(!response.headers.contains("Content-Encoding"))
        #expect(!response.headers.contains("Content-Length"))
      }
      #expect(try await get(Self.gzip, "identity, gzip").text == Self.text)
    }

    @Test func `decodes byte by byte`() async throws {
      let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(Self.gzip.count)\r\n\r\n"
      let server = try MockServer(
        .steps([.text(head), .drip(Self.gzip, chunk: 1, every: .milliseconds(1))]))
      #expect(try await client.get(RequestTarget(server.url)).text == Self.text)
    }

    @Test func `decodes all members of gzip and ignores what is none`() async throws {
      #expect(try await get(Self.gzip + Self.gzipOfSecond, "gzip").text == Self.text + "second")
      #expect(try await get(Self.gzip + Data("trash".utf8), "gzip").text == Self.text)
    }

    @Test func `takes no bytes for an empty body`() async throws {
      #expect(try await get(Data(), "gzip").body.isEmpty)
    }

    @Test func `fails for a coded body that is cut, at every place`() async throws {
      for coding in ["gzip", "deflate"] {
        let whole = coding == "gzip" ? Self.gzip : Self.zlib
        for count in 1..<whole.count {
          let error = await #expect(throws: HTTPError.self) { try await get(whole.prefix(count), coding) }
          #expect(error?.kind == .protocolViolation, "\(coding) \(count)")
        }
      }
      await #expect(throws: HTTPError.self) { try await get(Self.gzip + Self.gzipOfSecond.dropLast(3), "gzip") }
    }

    @Test func `fails for a coded body that is corrupt`() async throws {
      for (index, coding) in [(0, "gzip"), (14, "gzip"), (Self.gzip.count - 6, "gzip"), (2, "deflate")] {
        var body = coding == "gzip" ? Self.gzip : Self.zlib
        body[index] ^= 0xFF
        let error = await #expect(throws: HTTPError.self) { try await get(body, coding) }
        #expect(error?.kind == .protocolViolation, "\(coding) \(index)")
      }
    }

    @Test func `leaves alone what it does not know, and parts`() async throws {
      let unknown = try await get(Data("?".utf8), "zz")
      #expect(unknown.text == "?")
      #expect(unknown.headers["Content-Encoding"] == "zz")
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

    @Test func `asks for what it can decode unless told otherwise`() async throws {
      let server = try MockServer(.ok("x"))
      let target = RequestTarget(server.url)
      _ = try await client.send(.get(target))
      _ = try await client.send(.get(target, headers: ["Range": "bytes=0-1"]))
      _ = try await client.send(.get(target, headers: ["accept-encoding": "br"]))
      #expect(
        server.requests.map { $0.headers(named: "Accept-Encoding") } == [["gzip, deflate"], ["identity"], ["br"]])
    }
  }
#endif
