import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

/// Samples from the article on gateways.
extension SamplesTests {
  /// A stand-in for a server's handler.
  private struct Gateway {
    let upstream: HTTPClient

    func forward(_ request: IncomingRequest) async throws -> OutgoingResponse {
      var headers = request.headers.endToEnd
      headers["Host"] = nil
      headers["Content-Length"] = nil
      headers.append("1.1 gateway", for: "Via")
      let body = request.body.map { HTTPBody.stream($0, length: request.length, contentType: nil) }
      let response = try await upstream.stream(
        HTTPRequest(request.method, RequestTarget(text: request.target), headers: headers, body: body),
        options: .timeout(.seconds(60)))
      return OutgoingResponse(status: response.status, headers: response.headers.endToEnd, body: response.body)
    }

    func status(for error: HTTPError) -> HTTPStatus {
      switch error.kind {
      case .timedOut: .gatewayTimeout
      case .invalidRequest, .refusedByGuard: .badRequest
      default: .badGateway
      }
    }
  }

  private static func gateway(_ transport: StubTransport) async -> Gateway {
    let upstream = HTTPClient {
      $0.baseURL = "https://backend.internal:8443"
      $0.guards = [.allowedHosts(["backend.internal:8443"])]
      $0.accepts = .any
      $0.redirects = .off
      $0.retry = .off
      $0.cookies = .off
      $0.cache = .off
      $0.options.decompression = .off
      $0.maximumConnectionsPerHost = 256
      $0.maximumConnections = 512
    }
    await upstream.update { $0.transport = transport }
    return Gateway(upstream: upstream)
  }

  @Test func `forwards a request and streams its response`() async throws {
    let transport = StubTransport { _ in
      .text(
        "not here", status: .notFound,
        headers: ["Connection": "X-Hop", "X-Hop": "1", "Keep-Alive": "timeout=5", "X-App": "2"])
    }
    let gateway = await Self.gateway(transport)
    let pieces = AsyncStream<Data> { source in
      source.yield(Data("ping".utf8))
      source.finish()
    }

    let response = try await gateway.forward(
      IncomingRequest(
        method: .post, target: "/items?page=2",
        headers: [
          "Host": "gateway.example", "Connection": "close, X-Hop", "X-Hop": "1", "TE": "gzip", "Content-Length": "4",
          "Accept": "text/plain",
        ], length: 4, body: pieces))

    #expect(response.status == .notFound)
    #expect(response.headers.map(\.name) == ["Content-Type", "X-App"])
    #expect(try await response.body.collect(upTo: 100) == Data("not here".utf8))
    let sent = try #require(transport.requests.first)
    #expect(sent.url?.absoluteString == "https://backend.internal:8443/items?page=2")
    #expect(sent.headers["Accept"] == "text/plain")
    #expect(sent.headers["Via"] == "1.1 gateway")
    #expect(["Host", "X-Hop", "TE", "Connection"].allSatisfy { !sent.headers.contains($0) })
    #expect(try await sent.bodyData() == Data("ping".utf8))
  }

  @Test func `does not forward to other hosts`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let gateway = await Self.gateway(transport)

    let request = IncomingRequest(
      method: .get, target: "https://other.example/", headers: [:], length: nil, body: nil)
    let error = try await #require(throws: HTTPError.self) { _ = try await gateway.forward(request) }
    let statuses = [error, HTTPError(.timedOut, "x"), HTTPError(.connectionLost, "x")].map { gateway.status(for: $0) }

    #expect(error.kind == .refusedByGuard)
    #expect(statuses == [.badRequest, .gatewayTimeout, .badGateway])
    #expect(transport.requests.isEmpty)
  }

  @Test func `uploads the body of a response`() async throws {
    let transport = StubTransport(routes: [
      "GET /export": .text("0123456789", headers: ["Content-Length": "10"]),
      "PUT /archive/export": .status(.created),
    ])
    let client = Self.client(transport)

    let export = try await client.stream("/export")
    let length = export.headers["Content-Length"].flatMap { Int64($0) }
    try await client.put("/archive/export", body: .stream(export.body, length: length))

    #expect(length == 10)
    #expect(try await transport.requests.last?.bodyData() == Data("0123456789".utf8))
  }

  @Test func `fetches untrusted URLs with guards`() async throws {
    let fetcher = HTTPClient {
      $0.guards = [.httpsOnly, .publicAddressesOnly]
      $0.cookies = .off
      $0.timeout.total = .seconds(20)
      $0.options.maximumBodyBytes = 5 << 20
    }
    await fetcher.update { $0.transport = StubTransport { _ in .text("x") } }

    let error = await #expect(throws: HTTPError.self) { try await fetcher.get("http://a.test/") }

    #expect(error?.kind == .refusedByGuard)
    #expect(try await fetcher.get("https://a.test/").text == "x")
  }

  @Test func `declares a type alias for HTTPRequest`() {
    typealias UpstreamRequest = Martlet.HTTPRequest

    #expect(UpstreamRequest.get("/").method == .get)
  }
}

extension HTTPHeaders {
  /// The fields without those of the connection (RFC 9110 §7.6.1).
  var endToEnd: HTTPHeaders {
    let ownNames = [
      "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "TE", "Trailer",
      "Transfer-Encoding", "Upgrade",
    ]
    var fields = self
    for name in values(of: "Connection") + ownNames { fields.remove(name) }
    return fields
  }
}

/// A request as a server framework represents it.
private struct IncomingRequest: Sendable {
  var method: HTTPMethod
  var target: String
  var headers: HTTPHeaders
  var length: Int64?
  var body: AsyncStream<Data>?
}

/// The response that a handler returns.
private struct OutgoingResponse: Sendable {
  var status: HTTPStatus
  var headers: HTTPHeaders
  var body: ResponseBody
}
