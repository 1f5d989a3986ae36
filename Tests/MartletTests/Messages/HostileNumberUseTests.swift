import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet
@testable import MartletOutbox

/// Code that uses a peer's numbers must return the right result or throw one of Martlet's errors.
@Suite(.hangLimit) struct HostileNumberUseTests {
  static let numbers = [
    "0", "-1", "2147483648", "9007199254740992", "9223372036854775807", "18446744073709551616",
    "1000000000000000000000000000000",
  ]

  /// Returns the number in every field that contains numbers.
  private static func fields(_ number: String) -> HTTPHeaders {
    [
      "Content-Length": number, "Age": number, "Retry-After": number, "ETag": "\"1\"",
      "Set-Cookie": "a=b; Max-Age=\(number)",
      "Cache-Control": "max-age=\(number), stale-while-revalidate=\(number), stale-if-error=\(number)",
      "Strict-Transport-Security": "max-age=\(number)", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT",
    ]
  }

  /// Responds with two bytes, or with a two-byte range of a representation whose size is the number.
  private static func transport(_ number: String) -> StubTransport {
    StubTransport { request in
      var fields = fields(number)
      guard request.headers.contains("Range") else { return .status(.ok, headers: fields, body: Data("ok".utf8)) }
      fields.remove("Content-Length")
      fields["Content-Range"] = "bytes 0-1/\(number)"
      return .status(.partialContent, headers: fields, body: Data("ok".utf8))
    }
  }

  private static let settings: ClientSetting = [.guards([.hsts]), .retry(.off), .timeout(.unlimited)]

  @Test(arguments: numbers) func `hostile numbers do not break whole, streamed, cached or partial bodies`(
    number: String
  ) async throws {
    let client = HTTPClient.stubbed(Self.transport(number), Self.settings)

    for round in 0..<3 {
      let url: RequestTarget = "https://a.test/\(round / 2)"
      #expect(try await client.get(url).text == "ok")
      #expect(try await client.stream(.get(url)) { try await $0.text } == "ok")
      let part = try? await client.get(url, headers: ["Range": "bytes=0-\(number)"], options: .accepts(.any))
      #expect(part == nil || part?.text == "ok")
      #expect(try await client.get(url, options: .cache(.alwaysRevalidate)).text == "ok")
    }
  }

  @Test(arguments: numbers) func `a hostile Retry-After causes a retry or a status error`(number: String) async throws {
    let transport = StubTransport(script: [.status(503, headers: ["Retry-After": number]), .text("ok")])
    let client = HTTPClient.stubbed(transport, Self.settings).derived { $0.retry = .standard }

    let result = await Task { try await client.get("https://a.test/").text }.result

    switch result {
    case .success(let text): #expect(text == "ok")
    case .failure(let error): #expect((error as? HTTPError)?.status == 503)
    }
  }

  @Test(arguments: numbers, [1, 3])
  func `a download with hostile numbers succeeds or fails with a known error`(number: String, segments: Int)
    async throws
  {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let file = folder.url.appending(path: "a")
    var options = DownloadOptions()
    options.segments = segments
    let client = HTTPClient.stubbed(Self.transport(number), Self.settings)

    let result = await Task { [options] in
      try await client.download("https://a.test/a", to: file, options: options)
    }.result

    switch result {
    case .success: #expect(try Data(contentsOf: file) == Data("ok".utf8))
    case .failure(let error):
      let kind = try #require(error as? HTTPError).kind
      #expect([.connectionLost, .protocolViolation, .fileFailed].contains(kind), "\(error)")
      #expect(!FileManager.default.fileExists(atPath: file.path))
    }
  }

  @Test func `resuming a file of Int64.max bytes sends one range request and then fails`() async throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let file = folder.url.appending(path: "a")
    let part = try await PartFile.open(file.path + ".part", url: "https://a.test/a", resume: .automatic)
    try part.start { $0.describe(["ETag": "\"1\""], length: .max, isResumable: true) }
    _ = try part.write(Data("ok".utf8), at: 0)
    try part.save()
    part.close()
    let ranges = Log<String?>()
    let transport = StubTransport { request in
      ranges.add(request.headers["Range"])
      return .status(
        .partialContent, headers: ["ETag": "\"1\"", "Content-Range": "bytes 2-9/\(Int64.max)"], body: Data(count: 8))
    }
    var options = DownloadOptions()
    options.segments = 3

    let error = await #expect(throws: HTTPError.self) {
      try await HTTPClient.stubbed(transport, Self.settings).download("https://a.test/a", to: file, options: options)
    }

    // No disk has that much space.
    #expect(error?.kind == .fileFailed)
    #expect(ranges.elements == ["bytes=2-67108865"])
  }

  @Test func `hostile lengths keep the fraction of a queue within 0 and 1`() async throws {
    let transport = StubTransport { request in
      let number = request.url?.lastPathComponent ?? ""
      return .text(request.method == .head ? "" : "ok", headers: ["Content-Length": number])
    }
    let client = HTTPClient.stubbed(transport, Self.settings).derived { $0.cache = .off }
    let queue = RequestQueue(client: client, progress: .accurate)
    let fractions = Task {
      var fractions: [Double] = []
      for await progress in queue.progress { fractions.append(progress.fraction) }
      return fractions
    }
    for number in Self.numbers + Self.numbers { queue.add(.get("https://a.test/\(number)")) }

    let summary = await queue.finish()

    #expect(summary.succeeded == 2 * Self.numbers.count)
    #expect(queue.status.fraction == 1)
    #expect(await fractions.value.allSatisfy { 0...1 ~= $0 })
  }

  @Test func `sums of lengths do not overflow`() {
    var tally = QueueTally(.accurate)
    let ids = (1...4).map { RequestID(number: $0) }
    for id in ids {
      tally.add()
      tally.expect(.max, of: id)
    }

    tally.move(TransferProgress(sent: 0, received: .max, expectedToSend: nil, expectedToReceive: .max), of: ids[0])
    #expect(tally.progress.fraction == 0.25)
    for id in ids { tally.end(id, .succeeded(.ok)) }
    #expect(tally.progress.fraction == 1)
  }

  @Test(arguments: numbers) func `a hostile retry field keeps the delay between a second and a day`(number: String)
    async throws
  {
    let stream = StubResponse.text("retry: \(number)\ndata: a\n\n", headers: ["Content-Type": "text/event-stream"])
    let clock = TestClock(automaticLimit: .seconds(86_400))
    let client = HTTPClient.stubbed(StubTransport(script: [stream, .status(204)]), clock: clock) {
      $0.timeout = .unlimited
    }

    var texts: [String] = []
    for try await event in client.serverSentEvents(.get("https://a.test/")) { texts.append(event.data) }

    #expect(texts == ["a"])
    #expect(clock.sleeps.allSatisfy { .seconds(1)...(.seconds(86_400)) ~= $0 })
  }

  @Test(arguments: numbers) func `an outbox delivers despite hostile numbers`(number: String) async throws {
    let folder = try OutboxFolder()
    let transport = StubTransport(script: [.status(503, headers: Self.fields(number)), .status(204)])
    let client = HTTPClient.stubbed(transport, Self.settings).derived {
      $0.clock = TestClock(automaticLimit: .seconds(86_400))
    }
    let outbox = try await client.outbox(at: folder.url)
    try await outbox.submit(.post("https://a.test/", body: .text("x")))

    await outbox.waitUntilIdle()

    #expect(outbox.status.delivered == 1 && transport.requests.count == 2)
  }

  @Test(arguments: [
    "0-9223372036854775807/*", "0-1/-9223372036854775808", "2-1/*", "-1-1/*", "0-5/5", "*/5", "",
  ])
  func `a cache record with a contradictory range serves no bytes`(range: String) throws {
    let key = CacheKey.sample("a")
    var record = CacheRecord.sample()
    func decoded(_ range: String) throws -> CacheEntry {
      record.entry?.headers["Content-Range"] = "bytes \(range)"
      let data = try #require(CacheRecordCoding.encode(record, key))
      return try #require(CacheRecordCoding.decode(data)?.record.entry)
    }

    let entry = try decoded(range)

    #expect(entry.part == nil && entry.held == nil && entry.size == nil && !entry.isExtensible)
    #expect(entry.isPartial && entry.bytes(for: .from(0, through: 0)) == nil && entry.bytes(for: .last(1)) == nil)
    let good = try decoded("0-9223372036854775806/9223372036854775807")
    #expect(good.bytes(for: .from(0, through: nil))?.upperBound == Int64.max - 1)
  }
}
