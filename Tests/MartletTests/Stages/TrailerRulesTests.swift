import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

/// Which trailers may follow a request body.
@Suite(.hangLimit) struct TrailerRulesTests {
  private static func problem(_ names: [String], _ fields: HTTPHeaders? = nil) -> String? {
    do {
      try TrailerRules.check(names: names)
      if let fields { try TrailerRules.check(fields, names: names) }
      return nil
    } catch {
      return error.message
    }
  }

  @Test(arguments: [
    "Content-Length", "transfer-encoding", "TE", "Trailer", "Connection", "Host", "Cache-Control", "Expect", "Range",
    "If-Match", "If-None-Match", "Authorization", "WWW-Authenticate", "Cookie", "Set-Cookie", "Content-Type",
    "Content-Encoding", "Content-Range", "Location", "Date",
  ]) func `rejects fields that are needed before the body`(name: String) {
    #expect(Self.problem([name])?.contains("cannot be a trailer") == true)
    #expect(!TrailerRules.allows(name.uppercased().utf8))
  }

  @Test(arguments: ["Content-Digest", "ETag", "X-Checksum", "grpc-status", "Server-Timing", "Content-Lengths", "T"])
  func `accepts other fields as trailers`(name: String) {
    #expect(Self.problem([name], [name: "1"]) == nil)
    #expect(Self.problem([name.lowercased()], [name.uppercased(): "1"]) == nil)
    #expect(Self.problem([name], [:]) == nil)
  }

  @Test func `requires at least one name, and names must be tokens`() {
    #expect(Self.problem([])?.contains("no trailer names") == true)
    for name in ["", "a b", "a:", "é", "a\r\nb"] {
      #expect(Self.problem(["X-A", name])?.contains("is not a token") == true, "\(name)")
    }
  }

  @Test func `rejects malformed, unannounced and too large fields`() {
    #expect(Self.problem(["X-A"], ["X-A": "a\r\nX-B: c"])?.contains("illegal octet") == true)
    #expect(Self.problem(["X-A"], ["X-A": "1", "X-B": "2"])?.contains("'X-B' was not announced") == true)
    let most = TrailerRules.maximumBytes - "X-A".utf8.count - 4
    #expect(Self.problem(["X-A"], ["X-A": String(repeating: "a", count: most)]) == nil)
    #expect(Self.problem(["X-A"], ["X-A": String(repeating: "a", count: most + 1)])?.contains("at most") == true)
  }

  // MARK: Bodies

  private static func body(_ body: HTTPBody = .text("x"), names: [String] = ["X-Sum"]) -> HTTPBody {
    body.withTrailers(names) { ["X-Sum": "1"] }
  }

  @Test func `a body with trailers has no length and stays replayable`() async throws {
    let transport = StubTransport { _ in .text("ok") }
    let client = HTTPClient.stubbed(transport)
    let stream = HTTPBody.stream { AsyncStream { $0.finish() } as AsyncStream<Data> }

    for body in [Self.body(), Self.body(stream), Self.body(stream).gzipped(), Self.body().spooled()] {
      #expect(try body.check() == nil)
      #expect(body.isReplayable)
      _ = try await client.post("/", body: body)
    }

    #expect(transport.requests.count == 4)
    for request in transport.requests { #expect(try await request.bodyTrailers() == ["X-Sum": "1"]) }
  }

  @Test func `rejects a body with trailers inside another body`() async throws {
    let transport = StubTransport { _ in .text("ok") }
    let client = HTTPClient.stubbed(transport)
    let bodies = [
      HTTPBody.concatenating([Self.body()]), .multipart { $0.add(Self.body(), for: "a") }, Self.body(names: ["Host"]),
    ]

    for body in bodies {
      let error = await #expect(throws: HTTPError.self) { try await client.post("/", body: body) }
      #expect(error?.kind == .invalidRequest)
    }
    #expect(transport.requests.isEmpty)
  }

  @Test func `a stub can send trailers, and the cache does not store them`() async throws {
    let transport = StubTransport { _ in
      var response = StubResponse.status(.ok, headers: ["Cache-Control": "max-age=60"], body: Data("x".utf8))
      response.trailers = ["X-Sum": "1"]
      return response
    }
    let client = HTTPClient.stubbed(transport)

    let first = try await client.get("/")
    let second = try await client.get("/")

    #expect(first.trailers == ["X-Sum": "1"] && first.headers["X-Sum"] == nil)
    #expect(second.source == .cache && second.trailers == [:])
  }

  @Test func `a stub evaluates the trailers closure once`() async throws {
    let made = Log<Void>()
    let transport = StubTransport { _ in .text("ok") }
    let client = HTTPClient.stubbed(transport)
    struct Failure: Error {}

    let body = HTTPBody.text("x").withTrailers(["X-Sum"]) {
      made.add(())
      return ["X-Sum": "1"]
    }
    _ = try await client.post("/", body: body)
    #expect(made.count == 1)
    #expect(try await transport.requests[0].bodyTrailers() == ["X-Sum": "1"] && made.count == 1)

    let failing = HTTPBody.text("x").withTrailers(["X-Sum"]) { throw Failure() }
    await #expect(throws: Failure.self) { try await client.post("/", body: failing) }
    let other = HTTPBody.text("x").withTrailers(["X-Sum"]) { ["X-Other": "1"] }
    let error = await #expect(throws: HTTPError.self) { try await client.post("/", body: other) }
    #expect(error?.kind == .invalidRequest)
  }

  @Test func `a response combined from two parts has no trailers`() async throws {
    let transport = StubTransport { request in
      var response = StubResponse.status(
        .partialContent,
        headers: [
          "Cache-Control": "max-age=60", "ETag": "\"1\"",
          "Content-Range": request.headers["Range"] == "bytes=0-4" ? "bytes 0-4/10" : "bytes 5-9/10",
        ], body: Data("plain".utf8))
      response.trailers = ["Content-Digest": "sha-256=:AA==:"]
      return response
    }
    let client = HTTPClient.stubbed(transport)

    let part = try await client.get("/", headers: ["Range": "bytes=0-4"])
    let whole = try await client.get("/")

    #expect(part.trailers["Content-Digest"] != nil)
    #expect(whole.status == .ok && whole.text == "plainplain" && whole.trailers == [:])
  }

  @Test func `curlCommand rejects a request with trailers`() {
    let request = HTTPRequest.post("https://a.test/", body: Self.body())
    let error = #expect(throws: HTTPError.self) { try request.curlCommand() }
    #expect(error?.kind == .invalidRequest && error?.message.contains("trailers") == true)
  }
}
