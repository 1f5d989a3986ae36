import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

extension CacheStageTests {
  // MARK: Ranges of two versions

  private static let old = Data(repeating: UInt8(ascii: "o"), count: 200)
  private static let new = Data(repeating: UInt8(ascii: "n"), count: 300)

  /// A server that serves `old` to the first range request and `new` afterward.
  ///
  /// `range` contains the fields of its later 206 responses, for which the server ignores `If-Range`.
  private func changing(
    _ range: HTTPHeaders, after first: HTTPHeaders = ["Content-Range": "bytes 0-99/200"], body: Data = new.suffix(100)
  ) -> StubTransport {
    StubTransport { [day] request in
      let fields: HTTPHeaders = ["Cache-Control": "max-age=60", "Date": day.text]
      switch request.headers["Range"] {
      case "bytes=0-99":
        return .status(
          .partialContent, headers: fields.replacing(with: ["ETag": "\"old\""]).replacing(with: first),
          body: Self.old.prefix(100))
      case nil: return .status(.ok, headers: fields.replacing(with: ["ETag": "\"new\""]), body: Self.new)
      default: return .status(.partialContent, headers: fields.replacing(with: range), body: body)
      }
    }
  }

  @Test(
    arguments: [
      ["Content-Range": "bytes 100-199/200"], ["Content-Range": "bytes 100-199/300"],
      ["Content-Range": "bytes 100-199/*"],
      ["Content-Range": "bytes 100-199/200", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"],
      ["Content-Range": "bytes 100-199/200", "ETag": "\"new\""],
      ["Content-Range": "bytes 100-199/200", "ETag": "W/\"old\""],
      ["Content-Range": "bytes 100-199/200", "ETag": "\"old\"", "Content-Encoding": "br"],
      ["Content-Range": "bytes 100-299/300", "ETag": "\"old\""],
      ["Content-Range": "bytes 100-199/200", "ETag": "\"old\"", "Content-Length": "99"],
      ["Content-Range": "bytes 0-99/100", "ETag": "\"old\""],
    ] as [HTTPHeaders])
  func `does not combine a stored range with a range of another version`(range: HTTPHeaders) async throws {
    let transport = changing(range)
    let client = HTTPClient.onTestClock(transport, .now(day))

    _ = try await client.get("http://a.test/x", headers: ["Range": "bytes=0-99"])
    let whole = try await client.get("http://a.test/x")
    let again = try await client.get("http://a.test/x")

    #expect(whole.status == .ok && whole.body == Self.new && whole.source == .network)
    #expect(again.body == Self.new && again.source == .cache)
    #expect(transport.requests.map { $0.headers["Range"] } == ["bytes=0-99", "bytes=100-", nil])
  }

  @Test(arguments: [["ETag": "old"], ["ETag": "W/\"old\""], ["ETag": "\"o ld\""]] as [HTTPHeaders])
  func `requests the whole representation if the stored range has no strong validator`(
    fields: HTTPHeaders
  ) async throws {
    let transport = changing(
      fields.replacing(with: ["Content-Range": "bytes 100-199/200"]),
      after: fields.replacing(with: ["Content-Range": "bytes 0-99/200"]))
    let client = HTTPClient.onTestClock(transport, .now(day))

    _ = try await client.get("http://a.test/x", headers: ["Range": "bytes=0-99"])
    let whole = try await client.get("http://a.test/x")

    #expect(whole.body == Self.new)
    #expect(transport.requests.map { $0.headers["Range"] } == ["bytes=0-99", nil])
  }

  @Test(arguments: [99, 101]) func `a range whose length differs from its Content-Range is an error`(
    count: Int
  ) async throws {
    let transport = changing(
      ["Content-Range": "bytes 100-199/200", "ETag": "\"old\""], body: Data(Self.old.prefix(count)))
    let client = HTTPClient.onTestClock(transport, .now(day))

    _ = try await client.get("http://a.test/x", headers: ["Range": "bytes=0-99"])
    let error = await #expect(throws: HTTPError.self) { try await client.get("http://a.test/x") }

    #expect(error?.kind == .protocolViolation && error?.message.contains("\(count)") == true)
    #expect(try await client.cache.usage.records == 1)
  }

  @Test(
    arguments: [
      (["Content-Range": "bytes 100-199/200", "ETag": "\"old\""], true),
      (["Content-Range": "bytes 100-199/300", "ETag": "\"old\""], false),
      (["Content-Range": "bytes 100-199/*", "ETag": "\"old\""], false),
      (["Content-Range": "bytes 100-199/200", "ETag": "\"new\""], false),
      (["Content-Range": "bytes 100-199/200"], false),
    ] as [(HTTPHeaders, Bool)])
  func `extends a stored range only with a range of the same version`(range: HTTPHeaders, isJoined: Bool) async throws {
    let transport = changing(range)
    let client = HTTPClient.onTestClock(transport, .now(day))

    for bytes in ["0-99", "100-199"] {
      _ = try await client.get("http://a.test/x", headers: ["Range": "bytes=\(bytes)"])
    }
    let both = try await client.get("http://a.test/x", headers: ["Range": "bytes=50-149"])

    #expect((both.source == .cache) == isJoined)
  }

  @Test func `a combined response does not keep the Content-Digest of a range`() async throws {
    let digest = "sha-256=:AAAAQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"
    let transport = changing(
      ["Content-Range": "bytes 100-199/200", "ETag": "\"old\"", "Content-Digest": digest, "Repr-Digest": digest],
      after: ["Content-Range": "bytes 0-99/200", "Content-Digest": digest, "Repr-Digest": digest],
      body: Self.old.suffix(100))
    let client = HTTPClient.onTestClock(transport, .now(day))

    let range = try await client.get("http://a.test/x", headers: ["Range": "bytes=0-99"])
    let whole = try await client.get("http://a.test/x")
    let inner = try await client.get("http://a.test/x", headers: ["Range": "bytes=50-149"])

    #expect(range.headers["Content-Digest"] == digest)
    #expect(whole.body == Self.old && whole.source == .revalidated && inner.source == .cache)
    for response in [whole, inner] {
      #expect(response.headers["Content-Digest"] == nil && response.headers["Repr-Digest"] == digest)
    }
  }

  @Test func `does not combine the stored range of a custom store with a wrong length`() async throws {
    let shelf = MemoryStorage(limit: 1 << 20)
    var entry = FreshnessTests.entry(["Cache-Control": "max-age=60", "ETag": "\"old\""], status: 206)
    entry.bodyLength = 100
    entry.headers["Content-Range"] = "bytes 0-99/200"
    shelf.store(CacheRecord(entry: entry, body: .data(Self.old.prefix(90))), CacheKey(url: "http://a.test/x"))
    let transport = changing(["Content-Range": "bytes 100-199/200", "ETag": "\"old\""])
    let client = HTTPClient.onTestClock(transport, .now(day)) {
      $0.cache = ResponseCache(permanent: shelf, session: shelf)
    }

    #expect(try await client.get("http://a.test/x").body == Self.new)
  }

  @Test func `a 304 without an ETag confirms nothing if the request had several`() async throws {
    let texts = Shared(["a", "b", "", "c"])
    let transport = StubTransport { [day] _ in
      let text = texts.withLock { $0.removeFirst() }
      let fields: HTTPHeaders = ["Cache-Control": "max-age=60", "Date": day.text]
      if text.isEmpty { return .status(.notModified, headers: fields) }
      let variant: HTTPHeaders = text == "a" ? [:] : ["Vary": "Foo"]
      return .text(text, headers: fields.replacing(with: variant).replacing(with: ["ETag": "\"\(text)\""]))
    }
    let client = HTTPClient.onTestClock(transport, .now(day))

    var received: [String] = []
    for _ in 0..<3 {
      received.append(try await client.get("http://a.test/x").text)
      day.pass(100)
    }

    #expect(received == ["a", "b", "c"])
    #expect(transport.requests.map { $0.headers["If-None-Match"] } == [nil, "\"a\"", "\"a\", \"b\"", nil])
  }
}
