import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

#if os(Linux)
  @testable import CurlEngine
#endif

@Suite(.hangLimit) struct GzipTests {
  private static func sent(
    _ body: HTTPBody, headers: HTTPHeaders = [:],
    _ configure: @Sendable (inout HTTPClient.Configuration) -> Void = { _ in }
  ) async throws -> (data: Data, coding: [String]) {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.onTestClock {
      configure(&$0)
      $0.transport = transport
    }
    _ = try await client.send(.post("http://example.test/", headers: headers, body: body))
    let request = try #require(transport.requests.first)
    guard case .data(let data)? = request.body?.content else { throw HTTPError(.decoding, "no data") }
    return (data, request.headers[all: "Content-Encoding"])
  }

  /// Returns data that alternates between random and compressible bytes.
  private static func mixed(_ count: Int) -> Data {
    var random = SeededGenerator(seed: 3)
    return Data(count: count) { $0 % 1000 < 500 ? UInt8(truncatingIfNeeded: random.next()) : 65 }
  }

  #if os(Linux)
    private static func inflated(_ data: Data) throws -> Data {
      let decoder = try #require(try ContentDecoder(["gzip"]))
      var result = Data()
      try data.withUnsafeBytes { bytes in
        try decoder.push(bytes.bindMemory(to: UInt8.self)) { () throws(ContentDecoder.Problem) in
          while let piece = try decoder.pull() { result += piece }
        }
      }
      try decoder.finish()
      return result
    }

    @Test(arguments: [0, 1, 100, 65_535, 65_536, 65_537, 262_144, 262_145, Stress.count(600_001, full: 3_000_001)])
    func `gzipped bodies from any source decompress to the original`(count: Int) async throws {
      let data = Self.mixed(count)
      let folder = try TemporaryFolder()
      defer { folder.remove() }
      let file = try folder.write(data, to: "plain")
      let pieces = stride(from: 0, to: count, by: 70_001).map { data[$0..<min(count, $0 + 70_001)] }
      let bodies: [HTTPBody] = [
        .data(data), .file(file), .stream(AsyncStream(pieces)), .concatenating([.data(data), .file(file)]),
        .multipart(boundary: "b") { $0.add(data, for: "n", filename: "f") },
      ]

      for (number, body) in bodies.enumerated() {
        let isReplayable = body.isReplayable
        let gzipped = body.gzipped()
        #expect(gzipped.isReplayable == isReplayable)
        #expect(gzipped.length == nil)

        let sent = try await Self.sent(gzipped)
        let plain = sent.coding == ["gzip"] ? try Self.inflated(sent.data) : sent.data

        switch number {
        case 0...2: #expect(plain == data, "\(number)")
        case 3: #expect(plain == data + data)
        default: #expect(plain.starts(with: Data("--b\r\n".utf8)) && plain.range(of: data) != nil || count == 0)
        }
        if number > 0 && number < 4 { #expect(sent.coding == ["gzip"] || sent.data == plain) }
        if number == 2 { #expect(sent.coding == ["gzip"]) }
      }
    }
  #endif

  @Test func `sends a small body uncompressed if gzip does not shrink it`() async throws {
    var random = SeededGenerator(seed: 5)
    let noise = Data((0..<1000).map { _ in UInt8.random(in: 0...255, using: &random) })

    let first = try await Self.sent(HTTPBody.data(noise).gzipped())
    let second = try await Self.sent(HTTPBody.data(Data(count: 1000)).gzipped())
    let empty = try await Self.sent(HTTPBody.data(Data()).gzipped())

    #expect(first.data == noise && first.coding.isEmpty)
    #expect(second.data.count < 100 && second.coding == ["gzip"])
    #expect(empty.data.isEmpty && empty.coding.isEmpty)
  }

  @Test func `gzipping a gzipped body changes nothing`() {
    let body = HTTPBody.text("x").gzipped()

    #expect(body.gzipped() == body)
    #expect(body != .text("x"))
    #expect(body.contentType == "text/plain; charset=utf-8")
  }

  @Test(arguments: [true, false]) func `rejects a Content-Encoding set by the caller`(isDefault: Bool) async throws {
    let error = try await #require(throws: HTTPError.self) {
      try await Self.sent(
        HTTPBody.text("x").gzipped(), headers: isDefault ? [:] : ["content-encoding": "br"]
      ) { if isDefault { $0.headers["Content-Encoding"] = "gzip" } }
    }

    #expect(error.kind == .invalidRequest)
    #expect(error.message.contains("'Content-Encoding'"))
  }

  @Test func `a sent request can be sent again unchanged`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.onTestClock { $0.transport = transport }
    let body = HTTPBody.data(Data(count: 100_000)).gzipped()

    let response = try await client.post("http://example.test/", body: body)
    _ = try await client.send(response.request)
    _ = try await client.post("http://example.test/", body: body)

    #expect(transport.requests.map { $0.headers[all: "Content-Encoding"] } == [["gzip"], ["gzip"], ["gzip"]])
    #expect(Set(transport.requests.map(\.body)).count == 1)
  }

  @Test func `middleware can gzip, and a redirect to GET drops Content-Encoding`() async throws {
    let transport = StubTransport(script: [.redirect(to: "/there", status: .seeOther), .text("x")])
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.exchangeMiddleware = [.changing { $0.body = $0.body?.gzipped() }]
    }

    _ = try await client.post("http://example.test/", body: .data(Data(count: 100_000)))

    #expect(transport.requests.map { $0.headers["Content-Encoding"] } == ["gzip", nil])
  }

  @Test func `a missing zlib is an unsupported error`() throws {
    let error = try #require(throws: HTTPError.self) { try Compressor.check(.gzip, isUsable: false) }

    #expect(error.kind == .unsupported)
    #expect(error.message.contains("zlib"))
    #expect(HTTPBody.Compression.gzip.isUsable)
  }

  @Test func `a missing file in a gzipped body throws a file error`() async throws {
    let error = try await #require(throws: HTTPError.self) {
      try await Self.sent(HTTPBody.file(URL(filePath: "/nonexistent/martlet")).gzipped())
    }

    #expect(error.kind == .fileFailed)
  }
}

extension AsyncStream where Element == Data {
  init(_ pieces: [Data]) {
    self.init { source in
      for piece in pieces { source.yield(piece) }
      source.finish()
    }
  }
}
