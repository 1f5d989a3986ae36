#if os(Linux)
  import Foundation
  import Martlet
  import TestSupport
  import Testing

  /// Readers that sleep, over HTTP/2, and their cost while others read.
  @Suite(.stressOnly, .ownThreads, .needs(.proc), .hangLimit) struct SleepingReaderTests {
    private static var readers: Int { Figures.setting("MARTLET_SLEEPING_READERS") ?? 30 }

    @Test(.needs(.nginx, .openssl), arguments: Lane.engines)
    func `each of many sleeping readers uses less than 1 MiB while another reader is active`(lane: Lane) async throws {
      let authority = try await CertificateAuthority()
      let identity = try await authority.identity()
      let nginx = try await NginxServer(
        listening: "ssl http2", files: ["www/empty": "", "www/large": ""],
        """
        ssl_certificate \(identity.certificate.path);
        ssl_certificate_key \(identity.key.path);
        location / { root www; add_header X-Connection $connection; }
        """)
      // A sparse file occupies no disk space.
      let file = try FileHandle(forWritingTo: URL(filePath: nginx.path("www/large")))
      try file.truncate(atOffset: 96 << 20)
      try file.close()
      let child = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        [
          url = nginx.url as String, root = authority.root as URL, lane = lane as Lane, count = Self.readers as Int
        ] in
        let client = lane.client {
          $0.timeout.total = nil
          $0.timeout.idle = nil
          $0.tls = .customRoots(pem: root)
          $0.maximumConnectionsPerHost = count + 10
          $0.maximumConnections = count + 10
        }
        _ = try await client.get("\(raw: url)/empty")
        let (started, connections, isOver) = (Shared(0), Shared(Set<String>()), Shared(false))
        let more = try await ProcessFacts.peakGrowth {
          try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count {
              group.addTask {
                try await client.stream(.get("\(raw: url)/large")) { response in
                  connections.withLock { _ = $0.insert(response.headers["X-Connection"] ?? "") }
                  for try await _ in response.body {
                    started.withLock { $0 += 1 }
                    _ = await becomes(every: .milliseconds(20)) { isOver.withLock { $0 } }
                    break
                  }
                }
              }
            }
            _ = await becomes { started.withLock { $0 } == count }
            // The active readers read until windows are full: two bodies of 96 MiB and 100 small ones.
            for _ in 0..<2 {
              try await client.stream(.get("\(raw: url)/large")) { response in
                #expect(response.httpVersion == .http2)
                var bytes = 0
                for try await piece in response.body { bytes += piece.count }
                #expect(bytes == 96 << 20)
              }
            }
            for _ in 0..<100 { _ = try await client.get("\(raw: url)/empty") }
            try await Task.sleep(for: .seconds(2))
            isOver.withLock { $0 = true }
            try await group.waitForAll()
          }
        }
        let found = connections.withLock { $0.count }
        Figures.record("\(count) sleeping readers on \(lane): \(more >> 10) KiB, on \(found) connections")
        #expect(started.withLock { $0 } == count)
        // 30 MiB are for the active reader and the process itself.
        #expect(isSanitized || more < (count + 30) << 20)
      }
      Figures.show(child)
    }
  }
#endif
