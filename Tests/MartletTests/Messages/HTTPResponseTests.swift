import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

@Suite(.hangLimit) struct HTTPResponseTests {
  // MARK: Text

  struct Sample: Sendable, CustomTestStringConvertible {
    var type: String?
    var body: [UInt8]
    var text: String
    var note: String?
    var testDescription: String { "\(type ?? "none"): \(text)" }
  }

  // S5, S55
  @Test(arguments: [
    Sample(type: "text/plain; charset=iso-8859-1", body: [0x63, 0xE9], text: "cé"),
    Sample(type: "text/plain; charset=\"UTF-8\"", body: [0x63, 0xC3, 0xA9], text: "cé"),
    Sample(type: "text/plain", body: [0xEF, 0xBB, 0xBF, 0x63], text: "c"),
    Sample(type: nil, body: [0xFF, 0xFE, 0x63, 0x00], text: "c"),
    Sample(type: nil, body: [0x63, 0xC3, 0xA9], text: "cé"),
    Sample(
      type: "text/plain", body: [0x63, 0xE9], text: "c\u{FFFD}",
      note: "the body is not valid UTF-8; U+FFFD replaces invalid octets"),
    Sample(
      type: "text/plain; charset=klingon", body: [0x63, 0xC3, 0xA9], text: "cé",
      note: "unknown charset 'klingon'; decoded as UTF-8"),
    Sample(
      type: "text/plain; charset=utf-8", body: [0x63, 0xE9], text: "c\u{FFFD}",
      note: "the body is not valid UTF-8; U+FFFD replaces invalid octets"),
    Sample(type: "not a type", body: [0x63], text: "c"),
    Sample(type: nil, body: [], text: ""),
  ])
  func `decodes text by charset, byte order mark or UTF-8`(sample: Sample) {
    let headers: HTTPHeaders = sample.type.map { ["Content-Type": $0] } ?? [:]

    let response = HTTPResponse(status: 200, headers: headers, body: Data(sample.body))

    #expect(response.text == sample.text)
    #expect(response.textDecodingWarning == sample.note)
  }

  @Test(arguments: [0, 1, 2, 3, 4, 5], [nil, "utf-8"])
  func `the text of a truncated error body ends with a whole character`(limit: Int, charset: String?) async throws {
    let headers: HTTPHeaders = charset.map { ["Content-Type": "text/plain; charset=\($0)"] } ?? [:]
    let client = HTTPClient.onTestClock {
      $0.transport = .stub { _ in .status(500, headers: headers, body: Data("ü€ü".utf8)) }
    }

    let error = await #expect(throws: HTTPError.self) {
      try await client.get("http://example.test/", options: .maximumErrorBodyBytes(limit))
    }

    #expect(error?.response?.isBodyTruncated == true && error?.response?.textDecodingWarning == nil)
    #expect(error?.response?.text == ["", "", "ü", "ü", "ü", "ü€"][limit])
  }

  @Test func `contentType is the parsed media type, or nil`() {
    let typed = HTTPResponse(status: 200, headers: ["content-type": "Text/HTML; charset=utf-8"])
    let odd = HTTPResponse(status: 200, headers: ["Content-Type": "?"])

    #expect(typed.contentType?.charset == "utf-8")
    #expect(odd.contentType == nil)
    #expect(HTTPResponse(status: 200).contentType == nil)
  }

  // MARK: JSON

  struct Order: Decodable, Equatable {
    struct Line: Decodable, Equatable { var count: Int }
    var lines: [Line]
    var note: String
  }

  @Test(arguments: [
    (#"{"lines":[{"count":1},{"count":"hunter2"}],"note":"x"}"#, "expected Int at .lines[1].count"),
    (#"{"lines":[],"extra":"hunter2"}"#, "no value for 'note' at the top level"),
    (#"{"lines":[{"count":null}],"note":"hunter2"}"#, "expected Int at .lines[0].count, found null"),
    (#"{"lines":[{}],"note":"hunter2"}"#, "no value for 'count' at .lines[0]"),
    (#"{"lines": hunter2"#, "malformed: expected a value, at byte 10"), ("", "it is empty"), ("\r\n ", "it is empty"),
    ("\n<!doctype html><p>hunter2", "it is HTML or XML, such as a proxy or sign-in page"),
    (#""hunter2""#, "at the top level"),
  ])
  func `a JSON error names the location and reveals no content`(json: String, expected: String) throws {
    let response = HTTPResponse(status: 200, body: Data(json.utf8))

    let error = try #require(throws: HTTPError.self) { try response.json(Order.self) }

    #expect(error.kind == .decoding)
    #expect(error.message.hasPrefix("the body cannot be decoded as Order: "))
    #expect(error.message.hasSuffix(expected))
    #expect(!error.description.contains("hunter2"))
    #expect(error.underlying is DecodingError)
    #expect(error.response?.body == Data(json.utf8))
    #expect(error.redactedURL == "http://localhost/")
  }

  @Test func `prefers the decoder of the call to the client's`() async throws {
    struct Snake: Decodable { var userName: String }
    let snake = JSONDecoder()
    snake.keyDecodingStrategy = .convertFromSnakeCase
    let plain = HTTPClient.onTestClock { $0.transport = .stub { _ in .json(#"{"user_name":"a"}"#) } }
    let converting = plain.derived { [snake] in $0.decoder = snake }

    let ofClient = try await converting.get("http://example.test/").json(Snake.self)
    let response = try await plain.get("http://example.test/")

    #expect(ofClient.userName == "a")
    #expect(try response.json(Snake.self, decoder: snake).userName == "a")
    #expect(throws: HTTPError.self) { try response.json(Snake.self) }
  }

  // MARK: Requests and header fields

  // S53
  @Test func `exposes the original request, the final request and the redirects`() async throws {
    let client = HTTPClient.onTestClock {
      $0.baseURL = "http://example.test/api"
      $0.exchangeMiddleware = [.changing { $0.headers["X-Mark"] = "1" }]
      $0.transport = .stub { request in
        switch request.url?.path() {
        case "/api/a": .redirect(to: "/b?x=1", status: .seeOther)
        case "/b": .redirect(to: "http://other.test/c", status: .temporaryRedirect)
        default: .text("there")
        }
      }
    }

    let response = try await client.post("a", query: ["q": "1"], body: .text("x"))

    #expect(response.text == "there")
    #expect(response.url.absoluteString == "http://other.test/c")
    #expect(response.request.url?.absoluteString == "http://example.test/api/a?q=1")
    #expect(response.request.method == .post)
    #expect(response.request.headers["X-Mark"] == nil)
    #expect(response.finalRequest.url?.absoluteString == "http://other.test/c")
    #expect(response.finalRequest.method == .get)
    #expect(response.finalRequest.headers["X-Mark"] == "1")
    #expect(response.redirects.map(\.status) == [.seeOther, .temporaryRedirect])
    #expect(response.redirects.map(\.method) == [.post, .get])
    #expect(
      response.redirects.map(\.from.absoluteString) == ["http://example.test/api/a?q=1", "http://example.test/b?x=1"])
    #expect(response.redirects.map(\.to.absoluteString) == ["http://example.test/b?x=1", "http://other.test/c"])
    #expect(response.source == .network)
  }

  // S54
  @Test func `keeps repeated header fields separate and in order`() async throws {
    let headers: HTTPHeaders = [
      "Set-Cookie": "a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT", "X-A": "1", "set-cookie": "b=2",
    ]
    let client = HTTPClient.onTestClock { $0.transport = .stub { _ in .status(200, headers: headers) } }

    let response = try await client.get("http://example.test/")

    #expect(
      response.headers[all: "SET-COOKIE"] == ["a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT", "b=2"])
    #expect(response.headers["x-a"] == "1")
  }

  @Test(arguments: [
    ("/relative?a=b", "http://localhost/relative?a=b"), ("x", "http://localhost/x"), ("", "http://localhost/"),
    ("https://a.test/x", "https://a.test/x"), ("//", "http://localhost/"),
  ])
  func `the URL of a response is never relative`(target: String, url: String) {
    let response = HTTPResponse(status: .ok, request: .get(RequestTarget(target)))

    #expect(response.url.absoluteString == url)
  }

  @Test func `decodes an empty body as nil for an optional type only`() throws {
    struct Item: Decodable, Equatable { var a: Int }
    let empty = HTTPResponse(status: .noContent)
    let full = HTTPResponse(status: .ok, body: Data(#"{"a":1}"#.utf8))

    #expect(try empty.json(Item?.self) == nil)
    #expect(try full.json(Item?.self) == Item(a: 1))
    #expect(throws: HTTPError.self) { try empty.json(Item.self) }
    #expect(throws: HTTPError.self) { try empty.json([Item].self) }
  }
}
