#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// The rates of requests under a limit, alone and together.
  @Suite(.stressOnly, .hangLimit) struct BandwidthTests {
    private static let rate = 200_000

    private static func bytes(_ count: Int) -> Data { Data(count: count) { UInt8(truncatingIfNeeded: $0 / 7) } }

    /// Whether each download had its share until the first one finished.
    private func isShared(_ flows: [Flow]) -> Bool {
      guard let start = flows.compactMap(\.start).max(), let end = flows.compactMap(\.end).min() else { return false }
      let counts = flows.map { Double($0.bytes(from: start, to: end)) }
      let share = counts.reduce(0, +) / Double(counts.count)
      return share > 0 && counts.allSatisfy { abs($0 - share) <= share / 4 }
    }

    private func download(_ clients: [HTTPClient], _ url: String) async throws -> [Flow] {
      let flows = clients.map { _ in Flow() }
      try await withThrowingTaskGroup { group in
        for (client, flow) in zip(clients, flows) {
          group.addTask { try await flow.read(client, .get(RequestTarget(url))) }
        }
        try await group.waitForAll()
      }
      return flows
    }

    // MARK: Downloads

    @Test(arguments: Lane.engines)
    func `a download runs at the limit over five seconds`(_ lane: Lane) async throws {
      let server = try MockServer(.data(Self.bytes(1_000_000)))
      defer { server.stop() }
      let client = lane.client { $0.bandwidth = .limit(down: Self.rate) }

      try await Pace.expect(Self.rate) {
        let flow = try await download([client], server.url)[0]
        #expect(flow.total == 1_000_000)
        return flow.rate
      }
    }

    @Test(arguments: Lane.engines)
    func `four downloads share the limit, including those of a derived client`(_ lane: Lane) async throws {
      let server = try MockServer(.data(Self.bytes(250_000)))
      defer { server.stop() }
      let client = lane.client { $0.bandwidth = .limit(down: Self.rate) }
      // The derived client has its own loop and connections.
      let derived = client.derived { $0.maximumConnections = 10 }

      try await Pace.expect(Self.rate) {
        let flows = try await download([client, client, derived, derived], server.url)
        #expect(flows.allSatisfy { $0.total == 250_000 })
        return isShared(flows) ? Flow.rate(of: flows) : 0
      }
    }

    @Test(arguments: [1500, 20_000, 4_000_000])
    func `slow and fast limits hold for chunked responses`(_ rate: Int) async throws {
      let pieces = (0..<40).map { _ in Self.bytes(rate / 20) }
      let server = try MockServer(.steps([.message(.init(status: 200, body: .chunks(pieces, trailers: [])))]))
      defer { server.stop() }
      let client = Lane.curl.client { $0.bandwidth = .limit(down: rate) }

      try await Pace.expect(rate) {
        let flow = try await download([client], server.url)[0]
        #expect(flow.total == rate / 20 * 40)
        return flow.rate
      }
    }

    @Test func `a later download gets its share immediately`() async throws {
      let server = try MockServer(.data(Self.bytes(300_000)))
      defer { server.stop() }
      let client = Lane.curl.client { $0.bandwidth = .limit(down: Self.rate) }
      let endless = try MockServer(.repeating(Self.bytes(1000), count: 1_000_000))
      defer { endless.stop() }

      try await Pace.expect(Self.rate) {
        let (first, second) = (Flow(), Flow())
        let task = Task { try await first.read(client, .get(RequestTarget(endless.url))) }
        defer { task.cancel() }
        #expect(await becomes { first.total > 100_000 })
        try await second.read(client, .get(RequestTarget(server.url)))

        // The second download ends before the first.
        let (start, end) = (try #require(second.start), try #require(second.end))
        let counts = [first, second].map { $0.bytes(from: start, to: end) }
        let sum = Double(counts[0] + counts[1])
        let isFair = counts.allSatisfy { abs(Double($0) - sum / 2) <= sum / 8 }
        return isFair ? sum / ((end - start) / .seconds(1)) : 0
      }
    }

    @Test func `file downloads, segments, redirects and retries obey the limit`()
      async throws
    {
      let rate = 8_000_000
      let bytes = FileServer.bytes(16 << 20)
      let files = try FileServer(.init(bytes: bytes))
      let folder = try TemporaryFolder()
      let client = Lane.curl.client { $0.bandwidth = .limit(down: rate) }
      for segments in [1, 4] {
        var options = DownloadOptions()
        options.segments = segments
        let file = folder.url.appending(path: "\(segments)")
        try await Pace.expect(rate) {
          let seconds = try await Pace.seconds {
            _ = try await client.download(.get(files.target), to: file, options: options)
          }
          let isRight = try Data(contentsOf: file) == bytes
          #expect(isRight)
          return Double(bytes.count) / seconds
        }
      }

      // These requests also pause for other reasons, so they only must not exceed the limit.
      let server = try MockServer(script: [
        .redirect(to: "/a"), .status(503, body: String(repeating: "n", count: 100_000)), .data(Self.bytes(200_000)),
      ])
      defer { server.stop() }
      let slow = Lane.curl.client {
        $0.bandwidth = .limit(down: Self.rate)
        $0.redirects = .follow
        $0.retry = .backoff(initialDelay: .milliseconds(1))
      }
      let seconds = try await Pace.seconds {
        let response = try await slow.get(RequestTarget(server.url))
        #expect(response.body.count == 200_000)
      }
      #expect(server.requests.count == 3)
      #expect(seconds > 200_000 / 1.15 / Double(Self.rate))
    }

    // MARK: Uploads

    @Test(arguments: Lane.engines)
    func `uploads run at the limit, alone and together`(_ lane: Lane) async throws {
      let server = try MockServer(.ok())
      defer { server.stop() }
      let client = lane.client { $0.bandwidth = .limit(up: Self.rate) }
      let url = RequestTarget(server.url)
      let bytes = Self.bytes(1_000_000)
      let folder = try TemporaryFolder()
      let file = folder.url.appending(path: "body")
      try bytes.prefix(200_000).write(to: file)

      try await Pace.expect(Self.rate) {
        1_000_000 / (try await Pace.seconds { _ = try await client.post(url, body: .data(bytes)) })
      }
      #expect(server.requests.allSatisfy { $0.body == bytes })

      try await Pace.expect(Self.rate) {
        let count = server.requests.count
        let pieces = UploadPieces(Data(repeating: 7, count: 50_000), count: 4)
        let bodies: [HTTPBody] = [.stream(pieces), .file(file), .data(bytes.prefix(200_000))]
        let start = ContinuousClock.now
        let ends = try await withThrowingTaskGroup(of: Double.self) { group in
          for body in bodies {
            group.addTask {
              _ = try await client.post(url, body: body)
              return (ContinuousClock.now - start) / .seconds(1)
            }
          }
          return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(server.requests.dropFirst(count).map(\.bodyLength) == [200_000, 200_000, 200_000])
        // Uploads that take turns end at about the same time.
        let (first, last) = (ends.min() ?? 0, ends.max() ?? 1)
        return first > last * 0.75 ? 600_000 / last : 0
      }
    }

    @Test(arguments: Lane.engines)
    func `both directions of one request have separate limits`(_ lane: Lane) async throws {
      let server = try MockServer(.echoWhileReading)
      defer { server.stop() }
      let client = lane.client { $0.bandwidth = .limit(down: 100_000, up: 200_000) }
      let bytes = Self.bytes(300_000)

      try await Pace.expect(100_000) {
        let seconds = try await Pace.seconds {
          let response = try await client.post(RequestTarget(server.url), body: .data(bytes))
          #expect(response.body == bytes)
        }
        return 300_000 / seconds
      }
    }

    // MARK: HTTP/2

    @Test(.needs(.openssl, .nginx))
    func `requests on one HTTP/2 connection share the limit in both directions`() async throws {
      let sink = try MockServer(.ok())
      defer { sink.stop() }
      let authority = try await CertificateAuthority()
      let (identity, root) = (try await authority.identity(), authority.root)
      let server = try await NginxServer(
        listening: "ssl http2", files: ["big.txt": String(repeating: "n", count: 200_000)],
        """
        ssl_certificate \(identity.certificate.path);
        ssl_certificate_key \(identity.key.path);
        client_max_body_size 10m;
        client_body_buffer_size 1m;
        add_header X-Connection $connection;
        location /put { proxy_pass \(sink.url); }
        """)
      let client = Lane.curl.client {
        $0.bandwidth = .limit(down: Self.rate, up: Self.rate)
        $0.tls = .customRoots(pem: root)
      }
      // Opens the connection that the other requests reuse.
      let first = try await client.head(RequestTarget(server.url + "/big.txt"))
      #expect(first.httpVersion == .http2)
      let (put, connection) = (RequestTarget(server.url + "/put"), first.headers["X-Connection"])

      try await Pace.expect(Self.rate) {
        let flows = try await download(Array(repeating: client, count: 3), server.url + "/big.txt")
        // The server chooses the order, and may have sent a whole body before the next request arrives.
        #expect(flows.allSatisfy { $0.total == 200_000 })
        return Flow.rate(of: flows)
      }
      try await Pace.expect(Self.rate) {
        let seconds = try await Pace.seconds {
          try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
              group.addTask {
                let body = HTTPBody.data(Self.bytes(150_000))
                let response = try await client.post(put, body: body)
                #expect(response.status == .ok && response.headers["X-Connection"] == connection)
              }
            }
            try await group.waitForAll()
          }
        }
        return 450_000 / seconds
      }
      #expect(sink.requests.allSatisfy { $0.bodyLength == 150_000 })
    }
  }
#endif
