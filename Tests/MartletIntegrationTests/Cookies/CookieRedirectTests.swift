#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// Cookies over real sockets: which host receives which cookies after a redirect.
  @Suite(.hangLimit) struct CookieRedirectTests {
    /// The source or target of a request: a host name and the index of a port.
    struct Place: Hashable, Sendable {
      var host: String
      var port: Int
    }

    static let start = Place(host: "a.example", port: 0)

    static let places =
      ["a.example", "www.a.example", "b.example", "localhost", "127.0.0.1"].flatMap { host in
        [0, 1].map { Place(host: host, port: $0) }
      }

    /// Two servers that redirect.
    ///
    /// `/307/1/b.example` redirects to the second port of that name; other paths return 200.
    struct Servers {
      let ports: Shared<[Int]>
      let all: [MockServer]

      init() throws {
        let ports = Shared<[Int]>([])
        all = try (0..<2).map { _ in
          try MockServer(answering: { request in
            let parts = request.path.split(separator: "/").map(String.init)
            guard parts.count == 3, let status = Int(parts[0]), let port = Int(parts[1]) else { return .ok("end") }
            let location = "http://\(parts[2]):\(ports.withLock { $0[port] })/end"
            return .steps([
              .message(.init(status: status, headers: [.init("Location", location)]))
            ])
          })
        }
        self.ports = ports
        let numbers = all.map(\.port)
        ports.withLock { $0 = numbers }
      }

      func url(_ place: Place, _ path: String) -> RequestTarget {
        "http://\(place.host):\(all[place.port].port)\(raw: path)"
      }

      /// The requests that ended a redirect chain.
      var ends: [RecordedRequest] { all.flatMap(\.requests).filter { $0.path == "/end" } }
    }

    private static let settings: ClientSetting = [
      .redirects(.strictMethods),
      .resolve([
        "a.example": ["127.0.0.1"], "www.a.example": ["127.0.0.1"], "b.example": ["127.0.0.1"],
        "localhost": ["127.0.0.1"],
      ]),
    ]

    /// Cookies belong to a host, whatever its port (RFC 6265bis §8.5); a field set by the caller belongs to an origin.
    @Test(arguments: Lane.engines, [301, 302, 303, 307, 308])
    func `a redirect sends only the cookies that match the target, for every status and method`(
      lane: Lane, status: Int
    ) async throws {
      let servers = try Servers()
      let client = lane.client(Self.settings)
      for line in ["host=1", "strict=1; SameSite=Strict", "domain=1; Domain=a.example"] {
        await client.cookies.set(line: line, from: servers.url(Self.start, "/"))
      }
      var count = 0

      for method in [HTTPMethod.get, .head, .post, .put] {
        for place in Self.places {
          for hand in [nil, "hand=1"] {
            count += 1
            let target = servers.url(Self.start, "/\(status)/\(place.port)/\(place.host)")
            var request = HTTPRequest(method, target)
            if method == .post || method == .put { request.body = .text("x") }
            if let hand { request.headers["cOOkie"] = hand }

            let response = try await client.send(request)

            let sent = response.finalRequest.headers["Cookie"] ?? ""
            let wire = servers.all[place.port].requests.last
            #expect(wire?.path == "/end" && wire?.headers(named: "Cookie") == (sent.isEmpty ? [] : [sent]))
            let isSafe = response.finalRequest.method.isSafe
            let expected = Self.expected(at: place, hand, isSafe: isSafe)
            #expect(sent == expected, "\(status) \(method) to \(place), by hand: \(hand ?? "nothing")")
          }
        }
      }

      #expect(servers.ends.count == count && count == 80)
    }

    /// Returns the expected field, following the wording of the standard.
    private static func expected(at place: Place, _ hand: String?, isSafe: Bool) -> String {
      if place == start, let hand { return hand }
      switch place.host {
      case "a.example": return "host=1; strict=1; domain=1"
      // The same site, but another host.
      case "www.a.example": return "domain=1"
      default: return ""
      }
    }

    @Test(arguments: Lane.engines)
    func `a cross-site redirect sends no strict cookies with GET, and no cookies with POST`(lane: Lane) async throws {
      let servers = try Servers()
      let client = lane.client(Self.settings)
      for line in ["plain=1", "lax=1; SameSite=Lax", "strict=1; SameSite=Strict"] {
        await client.cookies.set(line: line, from: servers.url(Self.start, "/"))
      }

      // b.example redirects the client to a.example.
      let from = Place(host: "b.example", port: 1)
      let read = try await client.get(servers.url(from, "/307/0/a.example"))
      let write = try await client.post(servers.url(from, "/307/0/a.example"), body: .text("x"))

      #expect(read.finalRequest.headers["Cookie"] == "plain=1; lax=1")
      #expect(write.finalRequest.headers["Cookie"] == nil)
      #expect(servers.ends.map { $0.header("Cookie") } == ["plain=1; lax=1", nil])
    }

    @Test(arguments: Lane.engines)
    func `returns the cookies of a redirect response byte for byte`(lane: Lane) async throws {
      let server = try MockServer(answering: { request in
        switch request.path {
        case "/login":
          .steps([
            .message(
              .init(
                status: 302,
                headers: [
                  .init("Location", "/home"), .init("Set-Cookie", "sid=a b,\"c\"=ä; Path=/; HttpOnly"),
                  .init("Set-Cookie", "lang=en; Expires=Fri, 31 Dec 9999 23:59:59 GMT"),
                ]))
          ])
        default: .ok("x")
        }
      })
      let client = lane.client { $0.redirects = .follow }

      _ = try await client.get("\(raw: server.url)/login")
      _ = try await client.get("\(raw: server.url)/again")

      #expect(
        server.requests.map { $0.header("Cookie") } == [nil, "sid=a b,\"c\"=ä; lang=en", "sid=a b,\"c\"=ä; lang=en"])
      #expect(await client.cookies.all.map(\.isSessionCookie) == [true, false])
    }

    /// Hostile fields break nothing, and nothing from them is sent back in a harmful form.
    @Test(arguments: Lane.engines)
    func `hostile Set-Cookie fields are ignored or returned in a single Cookie field`(lane: Lane) async throws {
      let lines = [
        "=", ";", "", "😀😀=a", "a=\u{1B}[2J", "a=\u{7F}", "__Host-x=1", "b=1; Domain=com", "c=1; Domain=1",
        "d=1; Max-Age=99999999999999999999999999", "e=" + String(repeating: "x", count: 5_000), "f=1; Secure",
        "g=1; Expires=99999999999999999999", String(repeating: ";", count: 3_000), "h",
      ]
      let server = try MockServer(answering: { request in
        .steps([
          .text("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"),
          .bytes(Data("Set-Cookie: latin=".utf8) + [0xE9, 0xFF] + Data("\r\n".utf8)),
          .text(lines.map { "Set-Cookie: \($0)\r\n" }.joined() + "\r\n"),
        ])
      })
      let client = lane.client()

      _ = try? await client.get("\(raw: server.url)/")
      _ = try? await client.get("\(raw: server.url)/")

      let names = await client.cookies.all.map(\.name)
      #expect(Set(names).isSubset(of: ["😀😀", "d", "g", "", "latin"]))
      #expect(server.requests.count == 2)
      for request in server.requests { #expect(request.headers(named: "Cookie").count <= 1) }
    }
  }
#endif
