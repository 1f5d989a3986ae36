import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

#if os(Linux)
  @testable import CurlEngine
#endif

@Suite(.hangLimit) struct CompressedBodyTests {
  private static func sent(_ body: HTTPBody) async throws -> (data: Data, coding: String?) {
    let transport = StubTransport { _ in .text("x") }
    try await HTTPClient.onTestClock(transport).post("http://example.test/", body: body)
    let request = try #require(transport.requests.first)
    return (try await request.body?.bytes() ?? Data(), request.headers["Content-Encoding"])
  }

  #if os(Linux)
    /// The codings that the system supports, and all of them in CI, where a missing library is a failure.
    private static let codings = HTTPBody.Compression.allCases.filter {
      $0.isUsable || ProcessInfo.processInfo.environment["CI"] != nil
    }

    private static func decoded(_ data: Data, _ coding: String) throws -> Data {
      let decoder = try #require(try ContentDecoder([coding]))
      var result = Data()
      try data.withUnsafeBytes { bytes in
        try decoder.push(bytes.bindMemory(to: UInt8.self)) { () throws(ContentDecoder.Problem) in
          while let piece = try decoder.pull() { result += piece }
        }
      }
      try decoder.finish()
      return result
    }

    @Test(
      arguments: codings,
      [0, 1, 1000, 65_537, 400_000, Stress.count(1_000_001, full: 5_000_001)])
    func `a body decompresses to the original`(coding: HTTPBody.Compression, count: Int) async throws {
      var random = SeededGenerator(seed: 3)
      let data = Data(count: count) { $0 % 1000 < 500 ? UInt8(truncatingIfNeeded: random.next()) : 65 }
      let pieces = stride(from: 0, to: count, by: 70_001).map { data[$0..<min(count, $0 + 70_001)] }

      for body in [HTTPBody.data(data), .stream { AsyncStream(pieces) }, .stream(AsyncStream(pieces))] {
        let compressed = body.compressed(coding)
        #expect(compressed.isReplayable == body.isReplayable)
        #expect(compressed.length == nil)

        let (sent, name) = try await Self.sent(compressed)
        // A small body that compression does not shrink is sent as it is.
        if name != nil || count > HTTPBody.smallBytes { #expect(name == coding.rawValue) }
        #expect(try name.map { try Self.decoded(sent, $0) } ?? sent == data)
        if count > 1000 { #expect(sent.count < data.count * 3 / 4) }
      }
    }

    @Test(arguments: codings.filter { $0 != .gzip })
    func `an encoder's window has 256 KiB`(coding: HTTPBody.Compression) async throws {
      let (sent, _) = try await Self.sent(.data(Data(repeating: 65, count: 400_000)).compressed(coding))
      let head = Array(sent.prefix(6))
      try #require(head.count == 6)

      if coding == .brotli {
        // RFC 7932 §9.1: the code of 18 bits.
        #expect(head[0] & 0xF == 0b0011)
      } else {
        // RFC 8878 §3.1.1.1: no single segment, and 10 + 8 bits.
        #expect(head[4] & 0x20 == 0 && head[5] == 8 << 3)
      }
    }
  #endif

  @Test func `a body has one coding`() async throws {
    let body = HTTPBody.text("x").compressed(.zstd)

    #expect(body.compressed(.zstd) == body)
    #expect(body != HTTPBody.text("x").gzipped())
    #expect(HTTPBody.text("x").compressed(.gzip) == HTTPBody.text("x").gzipped())
    let error = await #expect(throws: HTTPError.self) { try await Self.sent(body.gzipped()) }
    #expect(error?.kind == .invalidRequest && error?.message.contains("zstd") == true)
  }

  @Test(arguments: HTTPBody.Compression.allCases) func `names a missing library`(coding: HTTPBody.Compression) {
    let error = #expect(throws: HTTPError.self) { try Compressor.check(coding, isUsable: false) }

    #expect(error?.kind == .unsupported && error?.message.contains(coding.library) == true)
  }
}
