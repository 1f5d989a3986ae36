import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// Which connection fields a caller may set, and the limits on the size of fields and URLs.
@Suite(.hangLimit) struct FieldRulesTests {
  private static func problem(_ headers: HTTPHeaders) -> String? {
    do {
      try FieldRules.check(headers)
      return nil
    } catch {
      return error.message
    }
  }

  @Test(arguments: [
    "Content-Length", "Transfer-Encoding", "Trailer", "Upgrade", "HTTP2-Settings", "Keep-Alive",
    "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Anything",
  ]) func `rejects fields that only the client may set`(name: String) {
    for spelling in [name, name.lowercased(), name.uppercased()] {
      for value in ["", "0", "chunked", "close", "trailers"] {
        #expect(Self.problem([spelling: value])?.contains("is set by the client itself") == true)
      }
    }
  }

  @Test(arguments: [
    (
      "Connection", ["close", "Close", " close\t"],
      ["", "keep-alive", "close, upgrade", "close,", "x-a", "upgrade", "te"]
    ),
    ("TE", ["trailers", "Trailers"], ["", "gzip", "trailers, gzip", "trailers;q=1", "chunked"]),
    ("Expect", ["100-continue", "100-Continue"], ["", "200-ok", "100-continue, x", "100"]),
    (
      "Host", ["h.test", "h.test:80", "H_x.test:", "127.0.0.1:8080", "[::1]", "[::1]:1"],
      [
        "", "u@h.test", "u:p@h.test", "h.test/x", "h.test:0", "h.test:99999", "h.test:x", "a b", "a,b", "é.test", "%61",
        "[::1", "127.1", "h.test\\x", "h.test?x", "h.test#x", ":80", "//h.test",
      ]
    ),
  ]) func `accepts only safe values of Connection, TE, Expect and Host`(name: String, good: [String], bad: [String]) {
    for value in good { #expect(Self.problem([name: value]) == nil, "\(value)") }
    for value in bad { #expect(Self.problem([name: value])?.contains("'\(name)' must be") == true, "\(value)") }
  }

  @Test(arguments: [
    ("Connection", "close"), ("Expect", "100-continue"), ("TE", "trailers"), ("Host", "h.test"),
    ("Content-Type", "a/b"), ("Referer", "/"),
  ]) func `rejects repeated singleton fields`(name: String, value: String) {
    var headers: HTTPHeaders = [name: value]
    #expect(Self.problem(headers) == nil)
    headers.append(value, for: name.uppercased())
    #expect(Self.problem(headers)?.contains("more than once") == true)
  }

  @Test(arguments: ["Proxy-Authorization", "Proxy", "Accept-Encoding", "Range", "Cookie", "X-Proxy-Connection", "Via"])
  func `accepts other fields, even repeated ones`(name: String) {
    var headers: HTTPHeaders = [name: "a"]
    headers.append("b", for: name)
    #expect(Self.problem(headers) == nil)
  }

  @Test(arguments: [
    ("Bearer t\n", "the value of the header 'Authorization' ends with a line feed (0x0A): trim it"),
    ("\r\nBearer t", "the value of the header 'Authorization' begins with a carriage return (0x0D): trim it"),
    (" Bearer t\r\n", "the value of the header 'Authorization' begins with a blank (0x20): trim it"),
    (" Bearer\nt", "the value of the header 'Authorization' contains the illegal octet 0xa"),
    ("\n", "the value of the header 'Authorization' contains the illegal octet 0xa"),
    (" Bearer t ", nil),
  ]) func `the error names whitespace that must be trimmed`(value: String, problem: String?) {
    #expect(Self.problem(["Authorization": value]) == problem)
  }

  @Test(arguments: [(" http://a.test/", nil), (" /x", nil), (" http://a.test/", "http://b/")] as [(String, String?)])
  func `the error names a blank before a URL`(target: String, base: String?) {
    let error = #expect(throws: InvalidInput.self) {
      try RequestTarget(target).resolve(against: base.map { RequestTarget($0) })
    }

    #expect(error?.message == "the URL \"\(target)\" begins with a blank (0x20): trim it")
  }

  @Test func `limits the number and the total size of header fields`() {
    func fields(_ count: Int) -> HTTPHeaders {
      HTTPHeaders((0..<count).map { HTTPHeaders.Field(name: "A\($0)", value: "v") })
    }
    #expect(Self.problem(fields(1000)) == nil)
    #expect(Self.problem(fields(1001)) == "the request has 1001 header fields; at most 1000 are allowed")

    // The other five bytes are the name, the colon, the space and the line ending.
    let value = String(repeating: "s", count: (256 << 10) - 5)
    #expect(Self.problem(["A": value]) == nil)
    let problem = Self.problem(["A": value + "s"])
    #expect(problem == "the request's header fields total 262145 bytes; at most 262144 are allowed")
  }

  @Test func `the limit for a URL includes its query`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.onTestClock { $0.transport = transport }
    let start = "http://example.test/?a="
    let rest = String(repeating: "s", count: (64 << 10) - start.utf8.count)

    _ = try await client.get("http://example.test/", query: ["a": "\(rest)"])
    let error = try await #require(throws: HTTPError.self) {
      try await client.get("http://example.test/", query: ["a": "\(rest)s"])
    }

    #expect(error.kind == .invalidRequest)
    #expect(error.message == "the URL has 65537 bytes; at most 65536 are allowed")
    #expect(transport.requests.count == 1)
  }

  @Test func `the limit for fields includes those that middleware adds`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.exchangeMiddleware = [
        .changing { for number in 0..<1000 { $0.headers["X-\(number)"] = "v" } }
      ]
    }

    let error = try await #require(throws: HTTPError.self) { try await client.get("http://example.test/") }

    #expect(error.kind == .invalidRequest && error.message.contains("header fields"))
    #expect(transport.requests.isEmpty)
  }
}
