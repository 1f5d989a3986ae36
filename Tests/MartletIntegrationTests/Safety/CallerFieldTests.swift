#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// The table in the article on request safety, row by row.
  @Suite(.hangLimit) struct CallerFieldTests {
    /// The treatment of a field.
    enum Fate: Sendable {
      case sent([String])
      case refused
    }

    struct Row: Sendable, CustomTestStringConvertible {
      var name: String
      var value: String
      var fate: Fate
      var hasBody = false

      var testDescription: String { "\(name): \(value)\(hasBody ? " with a body" : "")" }
    }

    private static func row(_ name: String, _ value: String, _ fate: Fate, hasBody: Bool = false) -> Row {
      Row(name: name, value: value, fate: fate, hasBody: hasBody)
    }

    static let rows: [Row] = [
      row("Content-Length", "5", .refused), row("Content-Length", "4", .refused, hasBody: true),
      row("Transfer-Encoding", "chunked", .refused), row("Transfer-Encoding", "chunked", .refused, hasBody: true),
      row("TE", "trailers", .sent(["trailers"])), row("TE", "gzip", .refused), row("Trailer", "X-A", .refused),
      row("Upgrade", "h2c", .refused),
      row("HTTP2-Settings", "AAMAAABkAARAAAAAAAIAAAAA", .refused), row("Keep-Alive", "timeout=5", .refused),
      row("Connection", "close", .sent(["close"])), row("Connection", "close", .sent(["close"]), hasBody: true),
      row("Connection", "keep-alive", .refused), row("Connection", "close, Authorization", .refused),
      row("Connection", "Upgrade", .refused),
      row("Host", "virtual.test:81", .sent(["virtual.test:81"])), row("Host", "u@virtual.test", .refused),
      row("Host", "", .refused),
      row("Expect", "100-continue", .sent(["100-continue"]), hasBody: true), row("Expect", "100-continue", .sent([])),
      row("Expect", "200-maybe", .refused, hasBody: true),
      row("Proxy-Authorization", "Basic secret", .refused), row("Proxy-Connection", "close", .refused),
      row("Proxy-Authenticate", "Basic", .refused), row("Proxy-Authentication-Info", "x", .refused),
      row("Content-Type", "own/type", .sent(["own/type"])),
      row("Content-Type", "own/type", .sent(["own/type"]), hasBody: true),
      row("Content-Encoding", "gzip", .sent(["gzip"]), hasBody: true),
      row("Accept-Encoding", "identity", .sent(["identity"])), row("Accept-Encoding", "x-own", .sent(["x-own"])),
      row("Accept", "text/plain", .sent(["text/plain"])), row("User-Agent", "Own/1", .sent(["Own/1"])),
      row("Range", "bytes=0-1", .sent(["bytes=0-1"])), row("Authorization", "Own x", .sent(["Own x"])),
      row("Cookie", "a=b", .sent(["a=b"])),
      row("Referer", "http://u:p@a.test/x#f", .sent(["http://a.test/x"])),
      row("Referer", "https://a.test/x", .sent([])),
      row("Date", "Sun, 06 Nov 1994 08:49:37 GMT", .sent(["Sun, 06 Nov 1994 08:49:37 GMT"])),
      row("Via", "1.1 x", .sent(["1.1 x"])), row("Origin", "null", .sent(["null"])),
    ]

    @Test(arguments: Lane.engines, rows)
    func `sends or rejects each field as documented`(lane: Lane, row: Row) async throws {
      let server = try MockServer(.ok("x"))
      defer { server.stop() }
      let client = lane.client()
      let request = HTTPRequest(
        row.hasBody ? .post : .get, RequestTarget(server.url("/a")), headers: [row.name: row.value],
        body: row.hasBody ? .text("body") : nil)

      switch row.fate {
      case .sent(let values):
        #expect(try await client.send(request).text == "x")
        let arrived = try #require(server.requests.first)
        #expect(arrived.headers(named: row.name) == values)
        #expect(arrived.text == (row.hasBody ? "body" : ""))
        #expect(arrived.headers(named: "Content-Length") == (row.hasBody ? ["4"] : []))
        #expect(arrived.headers(named: "Host").count == 1)
        #expect(server.requests.count == 1 && server.malformed.isEmpty)
      case .refused:
        let error = await #expect(throws: HTTPError.self) { try await client.send(request) }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.message.contains("'\(row.name)'") == true)
        #expect(error?.description.contains("secret") == false)
        #expect(server.connectionCount == 0)
      }
    }

    @Test(arguments: Lane.engines)
    func `Connection: close closes the connection even if the server keeps it open`(
      lane: Lane
    ) async throws {
      // This server keeps every connection open.
      let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8)
      let server = try ByteServer { _ in ByteServer.Script(pieces: [answer], end: .keep) }
      defer { server.stop() }
      let client = lane.client()

      for method in [HTTPMethod.get, .post, .put] {
        let body: HTTPBody? = method == .get ? nil : .text("body")
        let request = HTTPRequest(method, server.url(1), headers: ["connection": "close"], body: body)
        #expect(try await client.send(request).text == "ok")
        #expect(await becomes { server.connectionCount == 0 }, "\(method)")
      }
      // Other requests keep their connections open.
      let first = try await client.get(server.url(1)).connection
      let second = try await client.get(server.url(1)).connection
      #expect(first?.isReused == false && second?.isReused == true)
      #expect(server.connectionCount == 1)
      // `Connection: close` on a reused connection closes it after the response.
      #expect(try await client.get(server.url(1), headers: ["Connection": "close"]).connection?.isReused == true)
      #expect(await becomes { server.connectionCount == 0 })
    }

    @Test(arguments: Lane.engines)
    func `sends the body to a server that never sends 100 Continue`(lane: Lane) async throws {
      let server = try MockServer(options: .init(sendsContinue: false), answering: MockResponse.echo)
      let client = lane.client()

      let response = try await client.post(
        RequestTarget(server.url), headers: ["Expect": "100-continue"], body: .text("body"))

      #expect(response.text == "body")
    }

    #if canImport(Darwin) || URLSession
      @Test func `the system's loader follows the same rules`() async throws {
        let server = try MockServer(.ok("x"))
        let client = HTTPClient { $0.transport = .urlSession(loader: .system) }

        #expect(try await client.get(RequestTarget(server.url), headers: ["Connection": "close"]).text == "x")
        #expect(try await client.get(RequestTarget(server.url), headers: ["Expect": "100-continue"]).text == "x")
        let error = await #expect(throws: HTTPError.self) {
          try await client.get(RequestTarget(server.url), headers: ["Proxy-Authorization": "Basic secret"])
        }

        #expect(error?.kind == .invalidRequest)
        #expect(server.requests.map { $0.header("Connection")?.lowercased() } == ["close", "keep-alive"])
        #expect(server.requests.map { $0.header("Expect") } == [nil, nil])
      }
    #endif
  }
#endif
