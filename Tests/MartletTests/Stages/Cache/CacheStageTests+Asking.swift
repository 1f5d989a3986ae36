import Foundation
import MartletTesting
import Testing

@testable import Martlet

extension CacheStageTests {
  // MARK: What goes out

  @Test func `alwaysRevalidate adds Cache-Control unless the request has its own`() async throws {
    let transport = transport(["Cache-Control": "max-age=60", "ETag": "\"1\""], confirms: true)
    let client = client(transport)

    let first = try await client.get("http://a.test/x", options: .cache(.alwaysRevalidate))
    let second = try await client.get("http://a.test/x", options: .cache(.alwaysRevalidate))
    _ = try await client.get(
      "http://a.test/x", headers: ["Cache-Control": "no-cache"], options: .cache(.alwaysRevalidate))
    _ = try await client.get("http://a.test/y")

    #expect(transport.requests.map { $0.headers["Cache-Control"] } == ["max-age=0", "max-age=0", "no-cache", nil])
    #expect(second.source == .revalidated)
    // What the cache added is no part of what was asked.
    #expect(!first.finalRequest.headers.contains("Cache-Control"))
    #expect(!second.finalRequest.headers.contains("Cache-Control"))
  }

  // MARK: Codings

  @Test func `stores a partial response with a content coding only if decompression is off`() async throws {
    let transport = StubTransport { [day] request in
      let fields: HTTPHeaders = [
        "Cache-Control": "max-age=60", "ETag": "\"1\"", "Date": day.text, "Content-Encoding": "gzip",
        "Content-Range": request.headers["Range"] == "bytes=0-4" ? "bytes 0-4/10" : "bytes 5-9/10",
      ]
      return .status(.partialContent, headers: fields, body: Data("coded".utf8))
    }
    let client = client(transport)
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
    let client = client(transport)

    _ = try await client.get("http://a.test/x", headers: ["Range": "bytes=0-4"])
    let whole = try await client.get("http://a.test/x")

    #expect(whole.status == .ok && whole.text == "plainplain" && !whole.headers.contains("Content-Encoding"))
    #expect(transport.requests.map { $0.headers["Range"] } == ["bytes=0-4", "bytes=5-", nil])
  }
}
