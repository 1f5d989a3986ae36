import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

extension CacheStageTests {
  // MARK: Requests sent

  @Test func `alwaysRevalidate adds Cache-Control unless the request has its own`() async throws {
    let transport = transport(["Cache-Control": "max-age=60", "ETag": "\"1\""], confirms: true)
    let client = HTTPClient.onTestClock(transport, .now(day))

    let first = try await client.get("http://a.test/x", options: .cache(.alwaysRevalidate))
    let second = try await client.get("http://a.test/x", options: .cache(.alwaysRevalidate))
    _ = try await client.get(
      "http://a.test/x", headers: ["Cache-Control": "no-cache"], options: .cache(.alwaysRevalidate))
    _ = try await client.get("http://a.test/y")

    #expect(transport.requests.map { $0.headers["Cache-Control"] } == ["max-age=0", "max-age=0", "no-cache", nil])
    #expect(second.source == .revalidated)
    // Fields that the cache added are not part of the caller's request.
    #expect(!first.finalRequest.headers.contains("Cache-Control"))
    #expect(!second.finalRequest.headers.contains("Cache-Control"))
  }

  @Test func `revalidates a variant without a tag even if another one has a tag`() async throws {
    let modified = day.text
    let transport = StubTransport { request in
      var headers: HTTPHeaders = ["Cache-Control": "max-age=60"]
      guard request.headers["Accept-Language"] == "de" else {
        return .status(.ok, headers: headers.replacing(with: ["ETag": "\"a\""]), body: Data("hello".utf8))
      }
      headers["Vary"] = "Accept-Language"
      headers["Last-Modified"] = modified
      let isSame = !request.headers.contains("If-None-Match") && request.headers["If-Modified-Since"] == modified
      return isSame ? .status(.notModified, headers: headers) : .status(.ok, headers: headers, body: Data("hallo".utf8))
    }
    let client = HTTPClient.onTestClock(transport, .now(day))

    for language in ["en", "de"] {
      _ = try await client.get("http://a.test/x", headers: ["Accept-Language": language])
      day.pass(100)
    }
    let second = try await client.get("http://a.test/x", headers: ["Accept-Language": "de"])

    #expect(second.source == .revalidated && second.text == "hallo" && transport.requests.count == 3)
  }

  @Test(
    arguments: [
      (["ETag": "\"1\"", "Last-Modified": "Sunday, 06-Nov-94 08:49:37 GMT"], true),
      (["ETag": "\"1\"", "Last-Modified": "Sun, 06 Nov 1994 08:49:38 GMT"], false),
      (["ETag": "W/\"1\""], true), (["ETag": "\"2\""], false), ([:], true),
      (["Repr-Digest": "sha-256=:\(String(repeating: "A", count: 43))=:"], true),
      (["Repr-Digest": "sha-256=:\(String(repeating: "B", count: 42))A=:"], false),
      (["Content-Encoding": "gzip"], false), (["Content-Encoding": "br"], true), (["Content-Length": "5"], false),
    ] as [(HTTPHeaders, Bool)])
  func `a HEAD response freshens the stored one unless a field shows another version`(
    fields: HTTPHeaders, isSame: Bool
  ) async throws {
    let stored: HTTPHeaders = [
      "Cache-Control": "max-age=60", "ETag": "\"1\"", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT",
      "Content-Encoding": "br", "Content-Length": "6",
      "Repr-Digest": "sha-256=:\(String(repeating: "A", count: 43))=:",
    ]
    let transport = StubTransport { request in
      request.method == .head
        ? .status(.ok, headers: fields.replacing(with: ["Cache-Control": "max-age=60"]))
        : .status(.ok, headers: stored, body: Data("stored".utf8))
    }
    let client = HTTPClient.onTestClock(transport, .now(day)) { $0.options = .decompression(.off) }

    _ = try await client.get("http://a.test/x")
    day.pass(100)
    _ = try await client.head("http://a.test/x")
    let second = try await client.get("http://a.test/x")

    #expect(second.source == (isSame ? .cache : .network))
  }

  @Test(
    arguments: [
      ([:], ["ETag": "\"2\""]), ([:], ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"]),
      (["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"], ["ETag": "\"2\""]),
      (["ETag": "\"1\""], ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"]),
    ] as [(HTTPHeaders, HTTPHeaders)])
  func `a HEAD response adds no validator to a stored response`(
    stored: HTTPHeaders, fields: HTTPHeaders
  ) async throws {
    let age: HTTPHeaders = ["Cache-Control": "max-age=60"]
    let transport = StubTransport { request in
      request.method == .head
        ? .status(.ok, headers: fields.replacing(with: age))
        : .status(.ok, headers: stored.replacing(with: age), body: Data("stored".utf8))
    }
    let client = HTTPClient.onTestClock(transport, .now(day))

    _ = try await client.get("http://a.test/x")
    day.pass(100)
    _ = try await client.head("http://a.test/x")
    let second = try await client.get("http://a.test/x")

    #expect(second.source == .network)
    #expect(transport.requests.last?.headers["If-None-Match"] == nil)
  }

  @Test func `a HEAD response with two tags confirms none`() async throws {
    let transport = StubTransport { request in
      let tags = request.method == .head ? ["\"1\"", "\"2\""] : ["\"1\""]
      var headers: HTTPHeaders = ["Cache-Control": "max-age=60"]
      for tag in tags { headers.append(tag, for: "ETag") }
      return .status(.ok, headers: headers, body: request.method == .head ? Data() : Data("stored".utf8))
    }
    let client = HTTPClient.onTestClock(transport, .now(day))

    _ = try await client.get("http://a.test/x")
    day.pass(100)
    _ = try await client.head("http://a.test/x")

    #expect(try await client.get("http://a.test/x").source == .network)
  }

  @Test func `QUERY is retried, and neither stored nor answered from the cache`() async throws {
    let fresh: HTTPHeaders = ["Cache-Control": "max-age=600"]
    let transport = StubTransport(script: [
      .status(.serviceUnavailable), .text("1", headers: fresh), .text("2", headers: fresh), .text("3", headers: fresh),
    ])
    let client = HTTPClient.onTestClock(transport, .now(day)) { $0.retry = .backoff() }
    func ask(_ text: String) -> HTTPRequest { HTTPRequest(.query, "http://a.test/x", body: .text(text)) }

    let texts = [
      try await client.send(ask("a")).text, try await client.send(ask("b")).text,
      try await client.get("http://a.test/x").text,
    ]

    #expect(texts == ["1", "2", "3"] && transport.requests.count == 4)
  }

  // MARK: Content codings

  @Test func `stores a partial response with a content coding only if decompression is off`() async throws {
    let transport = StubTransport { [day] request in
      let fields: HTTPHeaders = [
        "Cache-Control": "max-age=60", "ETag": "\"1\"", "Date": day.text, "Content-Encoding": "gzip",
        "Content-Range": request.headers["Range"] == "bytes=0-4" ? "bytes 0-4/10" : "bytes 5-9/10",
      ]
      return .status(.partialContent, headers: fields, body: Data("coded".utf8))
    }
    let client = HTTPClient.onTestClock(transport, .now(day))
    let range: HTTPHeaders = ["Range": "bytes=0-4"]

    _ = try await client.get("http://a.test/x", headers: range)
    #expect(try await client.cache.usage.records == 0)
    _ = try await client.get("http://a.test/x", headers: range, options: .decompression(.off))
    let stored = try await client.get("http://a.test/x", headers: range, options: .decompression(.off))
    let whole = try await client.get("http://a.test/x", options: .decompression(.off))

    #expect(stored.source == .cache && stored.headers["Content-Encoding"] == "gzip")
    #expect(whole.status == .ok && whole.text == "codedcoded" && whole.headers["Content-Encoding"] == "gzip")
  }

  @Test func `does not complete a partial response with bytes in another content coding`() async throws {
    let transport = StubTransport { [day] request in
      var fields: HTTPHeaders = ["Cache-Control": "max-age=60", "ETag": "\"1\"", "Date": day.text]
      switch request.headers["Range"] {
      case "bytes=0-4": fields["Content-Range"] = "bytes 0-4/10"
      case nil: return .text("plainplain", headers: fields)
      default:
        fields["Content-Range"] = "bytes 5-9/10"
        fields["Content-Encoding"] = "gzip"
      }
      return .status(.partialContent, headers: fields, body: Data("plain".utf8))
    }
    let client = HTTPClient.onTestClock(transport, .now(day))

    _ = try await client.get("http://a.test/x", headers: ["Range": "bytes=0-4"])
    let whole = try await client.get("http://a.test/x")

    #expect(whole.status == .ok && whole.text == "plainplain" && !whole.headers.contains("Content-Encoding"))
    #expect(transport.requests.map { $0.headers["Range"] } == ["bytes=0-4", "bytes=5-", nil])
  }
}
