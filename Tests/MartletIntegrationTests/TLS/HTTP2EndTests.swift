#if os(Linux)
  import Foundation
  import Martlet
  import TestSupport
  import Testing

  /// HTTP/2 connections that nginx closes while requests are in transit.
  @Suite(.needs(.http2), .needs(.openssl, .nginx), .hangLimit) struct HTTP2EndTests {
    struct Case: CustomTestStringConvertible {
      var lane: Lane
      var method: HTTPMethod
      var width: Int
      /// The number of requests that a connection serves.
      var limit = 20

      var testDescription: String { "\(lane), \(method), \(width) at a time, \(limit) on a connection" }

      static let all =
        of([20, 50, 1000], widths: [1, 6, 20, 50]).filter {
          if requested != nil { return true }
          return Stress.isOn ? $0.limit == 20 || $0.width == 6 || $0.width == 50 : $0.limit == 20 && $0.width < 50
        }
        // All but one of the requests on a connection are refused.
        + of([1], widths: [20])
      static let some = of([1 << 20], widths: Stress.isOn ? [1, 6, 20, 50] : [1, 6])

      /// The number of requests in each case, if configured; all cases run then.
      static let requested = Figures.setting("MARTLET_HTTP2_COUNT")

      private static func of(_ limits: [Int], widths: [Int]) -> [Case] {
        Lane.engines.flatMap { lane in
          [HTTPMethod.get, .post].flatMap { method in
            limits.flatMap { limit in
              widths.map { Case(lane: lane, method: method, width: $0, limit: limit) }
            }
          }
        }
      }
    }

    @Test(arguments: Case.all) func `loses and duplicates no requests when keepalive_requests closes connections`(
      _ what: Case
    ) async throws {
      let authority = try await CertificateAuthority()
      let inner = try TemporaryFolder()
      let server = try await Self.server(try await authority.identity(), what.limit, inner)
      let count = what.limit == 1 ? 200 : Case.requested ?? Stress.count(200, full: 2000)

      let errors = await Self.run(
        what, count, server.url,
        what.lane.client(.trusting(authority.root), .retry(.standard), .maximumConnectionsPerHost(50)))

      try await Self.expectOnce(count, errors, server)
      withExtendedLifetime(inner) {}
    }

    @Test(arguments: Case.some) func `loses and duplicates no requests when nginx reloads`(_ what: Case) async throws {
      let authority = try await CertificateAuthority()
      let inner = try TemporaryFolder()
      let server = try await Self.server(try await authority.identity(), what.limit, inner, canReload: true)
      let client = what.lane.client(.trusting(authority.root), .retry(.standard), .maximumConnectionsPerHost(50))
      let reloading = Task {
        for _ in 0..<Stress.count(3, full: 20) {
          server.reload()
          try await Task.sleep(for: .milliseconds(100))
        }
      }
      let count = Stress.count(500, full: 2000)

      let errors = await Self.run(what, count, server.url, client)

      reloading.cancel()
      _ = await reloading.result
      try await Self.expectOnce(count, errors, server)
      await server.stop()
      withExtendedLifetime(inner) {}
    }

    @Test(arguments: Lane.engines) func `loses no requests when nginx closes idle connections`(
      _ lane: Lane
    ) async throws {
      let authority = try await CertificateAuthority()
      let server = try await NginxServer(try await authority.identity(), isHTTP2: true, "keepalive_timeout 50ms;")
      let client = lane.client(.trusting(authority.root), .retry(.standard), .maximumConnectionsPerHost(50))

      // The pauses range from slightly below the keep-alive timeout to slightly above it.
      for number in 0..<(Case.requested.map { min($0, 1000) } ?? Stress.count(40, full: 250)) {
        #expect(try await client.get("\(raw: server.url)/\(number)").httpVersion == .http2)
        try await Task.sleep(for: .microseconds(46_000 + number % 13 * 500))
      }
    }

    /// Over a slow path, many requests are sent before the server's limit of streams is known.
    @Test(.needs(.python), arguments: Lane.engines, [HTTPMethod.get, .post])
    func `loses and duplicates no requests beyond the limit of concurrent streams`(_ lane: Lane, _ method: HTTPMethod)
      async throws
    {
      let authority = try await CertificateAuthority()
      let inner = try TemporaryFolder()
      let server = try await Self.server(
        try await authority.identity(), 1000, inner, "http2_max_concurrent_streams 10;")
      let path = try await SlowPath(to: server.url, milliseconds: 20)
      let count = Stress.count(300, full: 2500)
      let what = Case(lane: lane, method: method, width: 100, limit: 1000)

      let errors = await Self.run(
        what, count, path.url,
        lane.client(.trusting(authority.root), .retry(.standard), .maximumConnectionsPerHost(100)))

      try await Self.expectOnce(count, errors, server)
      withExtendedLifetime(inner) {}
    }

    /// Returns a server that reads a whole request before it responds, because libcurl may lose an earlier response.
    private static func server(
      _ identity: CertificateAuthority.Identity, _ limit: Int, _ inner: TemporaryFolder, _ directive: String = "",
      canReload: Bool = false
    ) async throws -> NginxServer {
      try await NginxServer(
        listening: "ssl http2", canReload: canReload,
        """
        ssl_certificate \(identity.certificate.path);
        ssl_certificate_key \(identity.key.path);
        keepalive_requests \(limit);
        \(directive)
        listen unix:\(inner.path("socket"));
        location /inner { return 200 ok; }
        location / {
          proxy_pass http://unix:\(inner.path("socket")):/inner;
          access_log served.log;
        }
        """)
    }

    /// Sends numbered requests.
    ///
    /// - Returns: The failures.
    private static func run(_ what: Case, _ count: Int, _ url: String, _ client: HTTPClient) async -> [String] {
      await withTaskGroup { group in
        for worker in 0..<what.width {
          group.addTask {
            var errors: [String] = []
            for number in stride(from: worker, to: count, by: what.width) {
              let body: HTTPBody? = what.method == .post ? .text("x") : nil
              let request = HTTPRequest(what.method, RequestTarget("\(raw: url)/\(number)"), body: body)
              do {
                if try await client.send(request).httpVersion != .http2 { errors.append("another version") }
              } catch { errors.append("\(error)") }
            }
            return errors
          }
        }
        return await group.reduce(into: []) { $0 += $1 }
      }
    }

    /// Expects that nothing failed and that each request was served once.
    private static func expectOnce(_ count: Int, _ errors: [String], _ server: NginxServer) async throws {
      #expect(errors.isEmpty, "\(errors.count) of \(count): \(errors.first ?? "")")
      let log = server.path("served.log")
      #expect(await becomes { served(log).count >= count - errors.count })
      let times = Dictionary(grouping: served(log)) { $0 }.filter { $0.value.count > 1 }
      #expect(times.isEmpty, "served twice: \(times.count)")
    }

    /// Returns the targets of the served requests.
    private static func served(_ log: String) -> [Substring] {
      let text = (try? String(contentsOf: URL(filePath: log), encoding: .utf8)) ?? ""
      return text.split(separator: "\n").compactMap { line in
        let words = line.split(separator: " ")
        return words.firstIndex { $0.hasPrefix("\"") }.map { words[$0 + 1] }
      }
    }
  }
#endif
