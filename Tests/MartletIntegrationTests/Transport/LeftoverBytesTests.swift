#if os(Linux)
  import Foundation
  import Martlet
  import TestSupport
  import Testing

  /// Bytes after a response that libcurl reads together with the response's end.
  ///
  /// libcurl drops them, and would send the next request on that connection. A foreign response follows 4 ms later.
  @Suite(.needs(.openssl), .hangLimit) struct LeftoverBytesTests {
    enum Way: String, CaseIterable {
      case http, https
      /// A proxy that forwards http requests.
      case proxy
    }

    /// A response that marks its own end, and the origin of the next request.
    struct Framing: Sendable {
      enum Next {
        case separate, redirect, challenge, proxyChallenge
      }

      let name: String
      var method = HTTPMethod.get
      let head: [String]
      var body = ""
      var next = Next.separate

      /// Returns the response to a numbered request, with that number in each head.
      func bytes(_ number: Int) -> [UInt8] {
        let fields = next == .redirect ? ["Location: /\(number + 1)"] : []
        let lines = (head + fields + ["", ""]).joined(separator: "\r\n")
        return DeliveryLine.named(Array((lines + body).utf8), number)
      }

      static let all: [Framing] = [
        Framing(name: "a length", head: [ok, "Content-Length: 5"], body: "hello"),
        Framing(name: "the length 0", head: [ok, "Content-Length: 0"]),
        Framing(name: "a length in HTTP/1.0", head: [old, keepsAlive, "Content-Length: 5"], body: "hello"),
        Framing(name: "the length 0 in HTTP/1.0", head: [old, keepsAlive, "Content-Length: 0"]),
        Framing(name: "204", head: ["HTTP/1.1 204 No Content"]),
        Framing(name: "304", head: ["HTTP/1.1 304 Not Modified", "ETag: \"a\""]),
        Framing(name: "304 with a length", head: ["HTTP/1.1 304 Not Modified", "Content-Length: 500"]),
        Framing(name: "HEAD", method: .head, head: [ok]),
        Framing(name: "HEAD with a length", method: .head, head: [ok, "Content-Length: 5"]),
        Framing(name: "HEAD with chunks", method: .head, head: [ok, chunked]),
        Framing(name: "chunks", head: [ok, chunked], body: "5\r\nhello\r\n0\r\n\r\n"),
        Framing(name: "no chunks", head: [ok, chunked], body: "0\r\n\r\n"),
        Framing(name: "POST with chunks", method: .post, head: [ok, chunked], body: "1\r\nx\r\n0\r\n\r\n"),
        Framing(name: "trailers", head: [ok, chunked], body: "5;a=b\r\nhello\r\n0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n"),
        Framing(name: "204 after 103", head: [early, "", "HTTP/1.1 204 No Content"]),
        Framing(name: "chunks after 100 and 103", head: [goOn, "", early, "", ok, chunked], body: "0\r\n\r\n"),
        Framing(name: "a redirect", head: [found, "Content-Length: 0"], next: .redirect),
        Framing(name: "a redirect with chunks", head: [found, chunked], body: "1\r\nx\r\n0\r\n\r\n", next: .redirect),
        Framing(name: "401", head: [refused, basic, "Content-Length: 0"], next: .challenge),
        Framing(name: "401 with a length", head: [refused, basic, "Content-Length: 2"], body: "no", next: .challenge),
        Framing(name: "401 with chunks", head: [refused, basic, chunked], body: "0\r\n\r\n", next: .challenge),
        Framing(name: "407", head: [unknown, proxyBasic, "Content-Length: 0"], next: .proxyChallenge),
        Framing(
          name: "407 with chunks", head: [unknown, proxyBasic, chunked], body: "0\r\n\r\n", next: .proxyChallenge),
      ]

      private static let ok = "HTTP/1.1 200 OK"
      private static let old = "HTTP/1.0 200 OK"
      private static let keepsAlive = "Connection: keep-alive"
      private static let chunked = "Transfer-Encoding: chunked"
      private static let early = "HTTP/1.1 103 Early Hints"
      private static let goOn = "HTTP/1.1 100 Continue"
      private static let found = "HTTP/1.1 302 Found"
      private static let refused = "HTTP/1.1 401 Unauthorized"
      private static let basic = "WWW-Authenticate: Basic realm=\"a\""
      private static let unknown = "HTTP/1.1 407 Proxy Authentication Required"
      private static let proxyBasic = "Proxy-Authenticate: Basic realm=\"a\""
    }

    private struct Tally {
      var next = 0
      var foreign = 0
      var reused = 0
      var failed = 0
      var wrong: [String] = []
    }

    private static let foreign = DeliveryLine.named(
      Array("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nforeign".utf8), -1)
    private static let strays: [[UInt8]] = [
      Array("X".utf8), Array("\r\n".utf8), Array("HTTP/1.1 200 OK\r\nContent-Le".utf8), foreign,
    ]
    private static let pauses = [0, 1, 5, 50]

    /// Returns the response plan of a server: responses to even numbers have stray bytes, unless `isQuiet`.
    ///
    /// The response is sent in one chunk, or in two, of which the second contains its end and the stray bytes.
    private static func plan(_ number: Int, _ framing: Framing, isQuiet: Bool, isFirst: Bool) -> DeliveryPlan {
      guard number % 2 == 0, isFirst || framing.next == .separate || framing.next == .redirect else {
        return DeliveryLine.good(number)
      }
      let index = number / 2
      let bytes = framing.bytes(number)
      var generator = SeededGenerator(seed: UInt64(index))
      let isWhole = Int.random(in: 0..<3, using: &generator) == 0
      let place = isWhole ? 0 : Int.random(in: 0..<bytes.count, using: &generator)
      let cut = DeliveryPlan.Cut(offset: place, pause: .milliseconds(Int.random(in: 0...1, using: &generator)))
      guard !isQuiet else { return DeliveryPlan(bytes, cuts: [cut], end: .keep) }
      let stray = strays[Int.random(in: 0..<strays.count, using: &generator)]
      var plan = DeliveryPlan(bytes + stray, cuts: [cut], end: .keep).followed(by: foreign, after: .milliseconds(4))
      plan.outlivesRequests = true
      return plan
    }

    @Test(arguments: Lane.engines, Way.allCases)
    func `extra bytes after a response close its connection`(_ lane: Lane, _ way: Way) async throws {
      let count = Figures.setting("MARTLET_LEFTOVERS") ?? Stress.count(230, full: 920)
      let tally = try await Self.run(lane, way, count: count, isQuiet: false)

      Figures.record(
        "leftovers \(lane) \(way): \(tally.next) tries, \(tally.foreign) foreign, \(tally.reused) reused, "
          + "\(tally.failed) failed")
      #expect(tally.wrong.isEmpty, "\(tally.wrong.prefix(10).joined(separator: "\n"))")
    }

    @Test(arguments: Lane.engines, Way.allCases)
    func `the next request reuses the connection of a response without extra bytes`(
      _ lane: Lane, _ way: Way
    ) async throws {
      let tally = try await Self.run(lane, way, count: Framing.all.count * 2, isQuiet: true)

      #expect(tally.reused == tally.next, "\(tally.wrong.joined(separator: "\n"))")
      #expect(tally.foreign + tally.failed == 0, "\(tally.wrong.joined(separator: "\n"))")
    }

    private static func run(_ lane: Lane, _ way: Way, count: Int, isQuiet: Bool) async throws -> Tally {
      let authority = try await CertificateAuthority()
      // If a POST opens a new connection, the next request may use an older one.
      let hasPost = HostFact.reportedRequests.holds
      let framings = Framing.all.filter {
        ($0.next != .proxyChallenge || way == .proxy) && ($0.method != .post || hasPost)
      }
      let asked = Shared(Set<Int>())
      let server = try ByteServer(way == .https ? try await authority.identity() : nil) { number in
        let isFirst = asked.withLock { $0.insert(number).inserted }
        return plan(number, framings[number / 2 % framings.count], isQuiet: isQuiet, isFirst: isFirst)
      }
      defer { server.stop() }
      let origin = way == .proxy ? "http://a.example" : server.url
      let client = { @Sendable [root = authority.root] in
        lane.client {
          $0.tls = .customRoots(pem: root)
          $0.redirects = .follow
          $0.timeout = TimeoutPolicy(idle: .seconds(50))
          $0.authenticators[.origin(origin)] = .password(user: "a", password: "b")
          guard way == .proxy else { return }
          $0.proxy = .proxy(Proxy(server.url))
          $0.authenticators[.proxy(server.url)] = .password(user: "a", password: "b")
        }
      }
      let tally = Shared(Tally())
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<16 {
          let shared = client()
          group.addTask {
            while true {
              let index = tally.withLock { tally in
                defer { if tally.next < count { tally.next += 1 } }
                return tally.next
              }
              guard index < count else { return }
              let framing = framings[index % framings.count]
              // A client sends credentials that were accepted before without waiting for a challenge.
              let isFresh = framing.next == .challenge || framing.next == .proxyChallenge
              let problem = await ask(
                framing, 2 * index, origin, isFresh ? client() : shared, expectsReuse: isQuiet, tally)
              if let problem { tally.withLock { $0.wrong.append("\(framing.name), \(index): \(problem)") } }
            }
          }
        }
      }
      return tally.withLock { $0 }
    }

    /// Sends a request and the next one, and returns the problem, if any.
    private static func ask(
      _ framing: Framing, _ number: Int, _ origin: String, _ client: HTTPClient, expectsReuse: Bool,
      _ tally: Shared<Tally>
    ) async -> String? {
      func request(_ method: HTTPMethod, _ number: Int) -> HTTPRequest {
        HTTPRequest(method, RequestTarget("\(raw: origin)/\(number)"), body: method == .post ? .text("x") : nil)
      }
      do {
        var response = try await client.send(request(framing.method, number))
        var last = number
        if framing.next == .separate {
          guard response.headers.values(of: DeliveryLine.field).last == DeliveryLine.name(number) else {
            tally.withLock { $0.foreign += 1 }
            return "the first request got \(response)"
          }
          let pause = pauses[number / 2 / Framing.all.count % pauses.count]
          if pause > 0 { try await Task.sleep(for: .milliseconds(pause)) }
          last = number + 1
          let isPost = number % 4 == 2 && HostFact.reportedRequests.holds
          response = try await client.send(request(isPost ? .post : .get, last))
        } else if framing.next == .redirect {
          last = number + 1
        }
        let isOwn = response.headers.values(of: DeliveryLine.field) == [DeliveryLine.name(last)]
        let isReused = response.connection?.isReused ?? false
        tally.withLock {
          if !isOwn { $0.foreign += 1 }
          if isReused { $0.reused += 1 }
        }
        return isOwn && isReused == expectsReuse ? nil : "the next request got \(response), reused: \(isReused)"
      } catch {
        tally.withLock { $0.failed += 1 }
        return "\(error)"
      }
    }
  }
#endif
