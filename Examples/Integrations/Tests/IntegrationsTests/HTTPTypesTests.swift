import Foundation
import HTTPTypes
import Integrations
import Martlet
import MartletTesting
import Testing

@Suite(.timeLimit(.minutes(1))) struct HTTPTypesTests {
  private static func name(_ text: String) throws -> HTTPField.Name { try #require(HTTPField.Name(text)) }

  private static func request(
    _ path: String?, scheme: String? = nil, authority: String? = nil, method: HTTPTypes.HTTPRequest.Method = .get
  ) -> HTTPTypes.HTTPRequest {
    HTTPTypes.HTTPRequest(method: method, scheme: scheme, authority: authority, path: path)
  }

  @Test(arguments: [
    ("https", "example.test:8443", "/a%20b?c=d%2F"), ("http", "[::1]", "//x/a%2Eb?"), ("https", "example.test", "/"),
  ]) func `requests convert in both directions`(scheme: String, authority: String, path: String) throws {
    var request = Self.request(path, scheme: scheme, authority: authority, method: .post)
    let two = try Self.name("X-Two")
    request.headerFields = [.accept: "text/plain", two: "1"]
    request.headerFields.append(HTTPField(name: two, value: [0x61, 0xFF]))

    let converted = try Martlet.HTTPRequest(request, body: .text("x", contentType: "text/x"))

    #expect(converted.method == .post && converted.url?.absoluteString == "\(scheme)://\(authority)\(path)")
    #expect(converted.headers.filter { $0.name == "X-Two" }.map(\.octets) == [[0x31], [0x61, 0xFF]])
    request.headerFields[.contentType] = "text/x"
    #expect(try converted.httpRequest == request)
  }

  @Test(arguments: [
    Self.request("/", scheme: "https"), Self.request("/", authority: "a.test"), Self.request("x"), Self.request("*"),
    Self.request("https://b.test/"), Self.request("/#x"), Self.request("/", scheme: "ftp", authority: "a.test"),
    Self.request("/", scheme: "https", authority: "u@b.test"), Self.request("/", scheme: "https", authority: ""),
    Self.request(".b.test/", scheme: "https", authority: "a.test"),
    Self.request("/", scheme: "https", authority: "a.test/x"),
    Self.request(nil, authority: "a.test:443", method: .connect),
  ]) func `a target that could change the host is refused`(request: HTTPTypes.HTTPRequest) throws {
    let error = #expect(throws: HTTPError.self) { try Martlet.HTTPRequest(request) }

    #expect(error?.kind == .invalidRequest)
  }

  @Test func `extended CONNECT is unsupported`() throws {
    var request = Self.request("/chat", scheme: "https", authority: "a.test", method: .connect)
    request.extendedConnectProtocol = "websocket"

    #expect(#expect(throws: HTTPError.self) { try Martlet.HTTPRequest(request) }?.kind == .unsupported)
  }

  @Test(arguments: [
    Martlet.HTTPRequest.get("/users"), .get("https://a.test/", headers: ["a b": "1"]),
    .get("https://a.test/", headers: ["": "1"]), .get("https://a.test/", headers: [":path": "/x"]),
    .get("https://a.test/", headers: ["X": "1\r\nY: 2"]), .get("https://a.test/", headers: ["X": "\0"]),
    Martlet.HTTPRequest("a b", "https://a.test/"),
  ]) func `a request that swift-http-types cannot express is refused`(request: Martlet.HTTPRequest) throws {
    #expect(#expect(throws: HTTPError.self) { try request.httpRequest }?.kind == .invalidRequest)
  }

  @Test func `responses convert in both directions`() throws {
    var response = HTTPTypes.HTTPResponse(status: .init(code: 418, reasonPhrase: "Teapot"))
    response.headerFields = [.setCookie: "a=1"]
    response.headerFields.append(HTTPField(name: .setCookie, value: "b=2"))

    let whole = Martlet.HTTPResponse(response, body: Data("x".utf8))
    let streamed = StreamedResponse(response, request: .get("https://a.test/"))

    #expect(whole.text == "x" && whole.headers[all: "Set-Cookie"] == ["a=1", "b=2"])
    for copy in [try whole.httpResponse, try streamed.httpResponse] {
      #expect(copy == response && copy.status.reasonPhrase == "Teapot")
    }
    let invalid = Martlet.HTTPResponse(status: HTTPStatus(1_000))
    #expect(#expect(throws: HTTPError.self) { try invalid.httpResponse }?.kind == .protocolViolation)
  }

  #if os(Linux)
    @Test func `a client sends requests of swift-http-types with bodies and trailers`() async throws {
      let server = try MockServer(.chunked(["hel", "lo"], headers: ["X-A": "b"], trailers: ["X-End": "1"]))
      let client = HTTPClient { $0.baseURL = RequestTarget(text: server.url("/api")) }
      let digest = HTTPField(name: try Self.name("X-Digest"), value: "42")

      let body = HTTPBody.text("ping").withTrailers(HTTPFields([digest]))
      let (data, head) = try await client.data(for: Self.request("/a%2Fb", method: .put), body: body)
      let (chunks, second) = try await client.bytes(for: Self.request("/c"))

      #expect(data == Data("hello".utf8) && head.status == .ok)
      let name = try Self.name("X-A")
      #expect(head.headerFields[name] == "b" && second.headerFields[name] == "b")
      #expect(try await chunks.collect(upTo: 10) == Data("hello".utf8))
      let requests = server.requests
      #expect(requests.map(\.target) == ["/api/a%2Fb", "/api/c"] && requests.first?.text == "ping")
      #expect(requests.first?.trailers.map(\.value) == ["42"])
      let trailers = try await client.get("/").trailers.httpFields
      #expect(trailers[try Self.name("X-End")] == "1")
    }

    @Test func `no status is an error`() async throws {
      let server = try MockServer(.status(404, body: "none"))
      let client = HTTPClient { $0.baseURL = RequestTarget(text: server.url) }

      let (data, head) = try await client.data(for: Self.request("/"))

      #expect(head.status == .notFound && data == Data("none".utf8))
    }
  #endif
}
