import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

extension Shared<Int> {
  fileprivate func next() -> Int {
    withLock {
      $0 += 1
      return $0
    }
  }
}

/// A download's additional connections, which the server may refuse.
@Suite(.hangLimit) struct DownloadSegmentsTests {
  private static let bytes = [UInt32](0..<UInt32(18 << 18)).withUnsafeBytes { Data($0) }

  private static func range(_ request: HTTPRequest, tag: String = "1") throws -> StubResponse {
    let range = try #require(ByteRange(request.headers[all: "Range"])?.bytes(of: Int64(bytes.count)))
    return .status(
      .partialContent,
      headers: [
        "ETag": "\"\(tag)\"", "Content-Range": "bytes \(range.lowerBound)-\(range.upperBound)/\(bytes.count)",
      ], body: bytes[range.lowerBound...range.upperBound])
  }

  private static func refusal(_ status: Int) throws -> StubResponse {
    guard status > 0 else { throw HTTPError(.connectionLost, "closed") }
    // The response has the same version, but no range.
    guard status != 200 else { return .status(.ok, headers: ["ETag": "\"1\""], body: bytes) }
    return .status(HTTPStatus(rawValue: status), body: Data("busy".utf8))
  }

  private static func download(_ transport: StubTransport, to file: URL) async throws -> DownloadedFile {
    let client = HTTPClient {
      $0.transport = transport
      $0.cache = .off
      $0.retry = .off
      $0.timeout = .unlimited
    }
    return try await client.download("https://a.test/a", to: file, options: DownloadOptions { $0.segments = 3 })
  }

  @Test(arguments: [503, 429, 403, 200, 0])
  func `an accepted connection fetches the segments of refused ones`(status: Int) async throws {
    let folder = try TemporaryFolder()
    let (seen, refused) = (Shared(0), Log<Void>())
    let transport = StubTransport { request in
      let number = seen.next()
      // The second and third additional connections are refused while the first one fetches a segment.
      if number == 2 { await refused.wait(for: 2) }
      guard number == 3 || number == 4 else { return try Self.range(request) }
      refused.add(())
      return try Self.refusal(status)
    }

    let done = try await Self.download(transport, to: folder.url.appending(path: "a"))

    let isRight = try Data(contentsOf: done.url) == Self.bytes
    #expect(isRight)
    let ranges = transport.requests.map { $0.headers["Range"] }
    #expect(Set(ranges).count == ranges.count - 2 && ranges.count == 7, "\(ranges)")
  }

  @Test(arguments: [503, 429, 403, 200, 0])
  func `one connection fetches the rest if all additional ones are refused`(status: Int) async throws {
    let folder = try TemporaryFolder()
    let seen = Shared(0)
    let transport = StubTransport { request in
      let number = seen.next()
      return 2...4 ~= number ? try Self.refusal(status) : try Self.range(request)
    }

    let done = try await Self.download(transport, to: folder.url.appending(path: "a"))

    let isRight = try Data(contentsOf: done.url) == Self.bytes
    #expect(isRight)
    #expect(transport.requests.count == 5 && transport.requests.last?.headers["Range"] == "bytes=\(4 << 20)-")
  }

  @Test(arguments: [503, 429, 403, 0])
  func `a server that refuses the only connection fails the download, which can be resumed`(status: Int) async throws {
    let folder = try TemporaryFolder()
    let file = folder.url.appending(path: "a")
    let transport = StubTransport { request in
      request.headers["Range"]?.hasPrefix("bytes=0-") == true ? try Self.range(request) : try Self.refusal(status)
    }

    let error = await #expect(throws: HTTPError.self) { try await Self.download(transport, to: file) }
    let done = try await Self.download(StubTransport { try Self.range($0) }, to: file)

    #expect(error?.kind == (status == 0 ? .connectionLost : .status))
    #expect(transport.requests.count == 5 && done.resumedAt == 4 << 20)
    let isRight = try Data(contentsOf: file) == Self.bytes
    #expect(isRight)
  }

  @Test(arguments: [200, 206])
  func `another version on an additional connection discards no bytes`(status: Int) async throws {
    let folder = try TemporaryFolder()
    let seen = Shared(0)
    let transport = StubTransport { request in
      let number = seen.next()
      guard 2...4 ~= number else { return try Self.range(request) }
      return status == 206
        ? try Self.range(request, tag: "2") : .status(.ok, headers: ["ETag": "\"2\""], body: Self.bytes)
    }

    let done = try await Self.download(transport, to: folder.url.appending(path: "a"))

    let isRight = try Data(contentsOf: done.url) == Self.bytes
    #expect(isRight)
    #expect(transport.requests.last?.headers["Range"] == "bytes=\(4 << 20)-")
  }

  @Test func `a changed file ends the other connections`() async throws {
    let folder = try TemporaryFolder()
    let clock = TestClock(advancing: .manually)
    let seen = Shared(0)
    let transport = StubTransport { request in
      let number = seen.next()
      if 3...4 ~= number { try await clock.sleep(for: .seconds(3600)) }
      if number == 2 { await clock.wait(forSleepers: 2) }
      guard request.headers.contains("Range") else { return .status(.ok, headers: ["ETag": "\"2\""], body: Self.bytes) }
      return try Self.range(request, tag: number == 1 ? "1" : "2")
    }

    let done = try await Self.download(transport, to: folder.url.appending(path: "a"))

    let isRight = try Data(contentsOf: done.url) == Self.bytes
    #expect(isRight)
  }
}
