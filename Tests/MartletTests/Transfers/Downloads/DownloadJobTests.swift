import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// The requests that a download sends and the bytes that it keeps, with a stub.
@Suite(.hangLimit) struct DownloadJobTests {
  private static let bytes = Data(count: 10 << 20) { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }

  /// Responds with the requested range.
  private static func part(
    _ request: HTTPRequest, of bytes: Data = bytes, tag: String = "1", and excess: Data = Data()
  ) -> StubResponse {
    let range = request.headers["Range"].flatMap { ByteRange([$0]) }?.bytes(of: Int64(bytes.count))
    guard let range, request.headers["If-Range"].map({ $0 == "\"\(tag)\"" }) ?? true else {
      return .status(.ok, headers: ["ETag": "\"\(tag)\""], body: bytes)
    }
    return .status(
      .partialContent,
      headers: [
        "ETag": "\"\(tag)\"", "Content-Range": "bytes \(range.lowerBound)-\(range.upperBound)/\(bytes.count)",
      ], body: bytes[range.lowerBound...range.upperBound] + excess)
  }

  private static let settings: ClientSetting = [.cache(.off), .retry(.off), .timeout(.unlimited)]

  @Test func `cancelling a download cancels all its requests`() async throws {
    let folder = try TemporaryFolder()
    let waiting = Log<String>()
    let transport = StubTransport { request in
      let range = request.headers["Range"] ?? ""
      if range.hasPrefix("bytes=0-") { return Self.part(request) }
      waiting.add(range)
      try await untilCancelled()
    }
    let client = HTTPClient(transport, Self.settings)
    var options = DownloadOptions()
    options.segments = 2
    let handle = client.startDownload(.get("https://a.test/a"), to: folder.file, options: options)
    await waiting.wait(for: 2)
    #expect(Set(waiting.elements).count == 2)

    handle.cancel()

    await #expect(throws: CancellationError.self) { try await handle.value }
    await client.waitUntilEmpty()
    #expect(waiting.count == 2)
  }

  /// Runs a download that fails and leaves the first bytes of the file.
  private func leave(_ count: Int, in folder: TemporaryFolder) async {
    let transport = StubTransport { _ in
      .status(
        .ok, headers: ["ETag": "\"1\"", "Content-Length": "\(Self.bytes.count)"], body: Self.bytes.prefix(count))
    }
    let error = await #expect(throws: HTTPError.self) {
      try await HTTPClient(transport, Self.settings).download("https://a.test/a", to: folder.file)
    }
    #expect(error?.kind == .connectionLost)
  }

  @Test func `the progress of a resumed download starts at its partial length`() async throws {
    let folder = try TemporaryFolder()
    await leave(3_000_000, in: folder)
    let received = Log<Int64>()

    let done = try await HTTPClient(StubTransport { Self.part($0) }, Self.settings).download(
      "https://a.test/a", to: folder.file
    ) {
      received.add($0.received)
    }

    #expect(done.resumedAt == 3_000_000)
    #expect(received.elements.first == 3_000_000)
    #expect(received.elements.last == Int64(Self.bytes.count))
    #expect(try Data(contentsOf: folder.file) == Self.bytes)
  }

  @Test func `a partial response with excess bytes is a protocol violation`() async throws {
    let folder = try TemporaryFolder()
    await leave(3_000_000, in: folder)
    let transport = StubTransport { Self.part($0, and: Data("more".utf8)) }

    let error = await #expect(throws: HTTPError.self) {
      try await HTTPClient(transport, Self.settings).download("https://a.test/a", to: folder.file)
    }

    #expect(error?.kind == .protocolViolation)
    #expect(!FileManager.default.fileExists(atPath: folder.file.path))
  }

  @Test func `revalidates a complete part file before renaming it`() async throws {
    let folder = try TemporaryFolder()
    let part = try await PartFile.open(folder.file.path + ".part", url: "https://a.test/a", resume: .automatic)
    try part.start { $0.describe(["ETag": "\"1\""], length: 4, isResumable: true) }
    _ = try part.write(Data("old!".utf8), at: 0)
    try part.save()
    part.close()
    let ranges = Log<String?>()
    let transport = StubTransport { request in
      ranges.add(request.headers["Range"])
      return Self.part(request, of: Data("new!".utf8), tag: "2")
    }

    _ = try await HTTPClient(transport, Self.settings).download("https://a.test/a", to: folder.file)

    #expect(ranges.elements == ["bytes=3-3"])
    #expect(try Data(contentsOf: folder.file) == Data("new!".utf8))
  }

  @Test func `ranges that never match end the download despite retries`() async throws {
    let folder = try TemporaryFolder()
    let transport = StubTransport { request in
      guard request.headers.contains("Range") else {
        return .status(
          .ok, headers: ["ETag": "\"1\"", "Content-Length": "\(Self.bytes.count)"], body: Self.bytes.prefix(1000))
      }
      // The range is never the requested one.
      return .status(
        .partialContent, headers: ["ETag": "\"1\"", "Content-Range": "bytes 1-3/\(Self.bytes.count)"],
        body: Data(count: 3))
    }
    let client = HTTPClient(transport, Self.settings).derived {
      $0.retry = .custom { attempt, outcome in
        attempt < 40 && outcome.error?.kind == .connectionLost ? .zero : nil
      }
    }

    let error = await #expect(throws: HTTPError.self) {
      try await client.download("https://a.test/a", to: folder.file)
    }

    #expect(error?.kind == .protocolViolation)
    #expect(transport.requests.count < 20)
  }

  @Test func `the total timeout covers all segments of a download together`() async throws {
    let folder = try TemporaryFolder()
    let clock = TestClock(advancing: .manually)
    let gate = TestSupport.Gate()
    let waiting = Log<Void>()
    let transport = StubTransport { request in
      if request.headers["Range"]?.hasPrefix("bytes=0-") == true {
        await gate.pass()
        return Self.part(request)
      }
      waiting.add(())
      try await untilCancelled()
    }
    let client = HTTPClient(transport, Self.settings).derived { $0.clock = clock }
    var options = DownloadOptions()
    options.segments = 2
    options.timeout.total = .seconds(60)
    let task = Task { [options] in
      try await client.download("https://a.test/a", to: folder.file, options: options)
    }
    await gate.waitForArrivals(1)
    await clock.waitForSleepers(1)
    clock.advance(by: .seconds(30))
    gate.open()
    await waiting.wait(for: 2)

    // A limit that began later would also expire later.
    clock.advance(by: .seconds(30))

    let error = await #expect(throws: HTTPError.self) { try await task.value }
    #expect(error?.kind == .timedOut)
    await client.waitUntilEmpty()
  }
}

extension TemporaryFolder {
  fileprivate var file: URL { url.appending(path: "a") }
}
