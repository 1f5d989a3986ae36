#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// A cluster of servers that are slow, drained, refusing, or replaced under load.
  @Suite(.hangLimit) struct ClusterOverSocketsTests {
    /// A server on its own port, which can be stopped and started again.
    private final class Replica: Sendable {
      let port: Int
      private let delay: Duration
      private let server = Shared<MockServer?>(nil)
      /// The number of times that each request was processed.
      let processed = Shared<[String: Int]>([:])

      var url: RequestTarget { RequestTarget(text: "http://127.0.0.1:\(port)") }
      let count = Shared(0)

      init(delay: Duration = .zero) throws {
        port = try MockServer.refusedPort()
        self.delay = delay
        try start()
      }

      func start() throws {
        let next = try MockServer(port: port) { [processed, count, delay] request in
          if delay > .zero { try? await Task.sleep(for: delay) }
          processed.withLock { $0["\(request.method) \(request.path)", default: 0] += 1 }
          count.withLock { $0 += 1 }
          return .ok("done")
        }
        server.withLock { $0 = next }
      }

      func stop() { server.withLock { exchange(&$0, with: nil) }?.stop() }
    }

    private static func client(_ servers: [RequestTarget]) -> HTTPClient {
      Lane.curl.client {
        $0.baseURL = "http://service.test"
        $0.cluster = .roundRobin(servers, isOneService: true)
        $0.cluster?.health = .afterFailures(3, pause: .milliseconds(50))
        $0.retry = .backoff(attempts: 4)
      }
    }

    /// Sends requests from several tasks; returns how many each server has answered.
    private static func spread(_ count: Int, _ client: HTTPClient) async throws -> [String: Int] {
      try await withThrowingTaskGroup { group in
        for worker in 0..<8 {
          group.addTask {
            var servers: [String] = []
            for number in 0..<count / 8 {
              let response = try await client.get("/\(worker)/\(number)", options: .cache(.off))
              servers.append(response.attempts.last?.server ?? "")
            }
            return servers
          }
        }
        return try await group.reduce(into: [:]) { counts, servers in
          for server in servers { counts[server, default: 0] += 1 }
        }
      }
    }

    private static func isEven(_ counts: [String: Int], over servers: [String]) -> Bool {
      let even = Double(counts.values.reduce(0, +)) / Double(servers.count)
      return Set(counts.keys) == Set(servers)
        && counts.values.allSatisfy { abs(Double($0) - even) <= even / 10 }
    }

    @Test(.needs(.nginx)) func `requests spread evenly over the servers that are neither drained nor refusing`()
      async throws
    {
      let (fast, slow) = (try Replica(), try Replica(delay: .milliseconds(5)))
      let drained = try await NginxServer(
        files: ["long.txt": String(repeating: "x", count: 600_000)], canReload: true,
        "location = /long.txt { limit_rate 300k; }", "location / { return 200 done; }")
      let refusing = "http://127.0.0.1:\(try MockServer.refusedPort())"
      let client = Self.client([fast.url, slow.url, RequestTarget(text: drained.url), RequestTarget(text: refusing)])
      let three = ["http://127.0.0.1:\(fast.port)", "http://127.0.0.1:\(slow.port)", drained.url]

      let before = try await Self.spread(480, client)
      let download = try await client.stream(RequestTarget(text: drained.url + "/long.txt"))
      drained.drain()
      _ = await becomes {
        do {
          _ = try await client.get(RequestTarget(text: drained.url))
        } catch let error as HTTPError where error.kind == .cannotConnect {
          return true
        } catch {}
        return false
      }
      let after = try await Self.spread(480, client)

      #expect(Self.isEven(before, over: three), "\(before)")
      #expect(Self.isEven(after, over: Array(three.prefix(2))), "\(after)")
      #expect(try await download.collect(upTo: 1 << 20).count == 600_000)
      await drained.stop()
      fast.stop()
      slow.stop()
    }

    @Test func `no request is lost while a server is replaced 50 times`() async throws {
      let (replaced, slow) = (try Replica(), try Replica(delay: .milliseconds(2)))
      let refusing = RequestTarget(text: "http://127.0.0.1:\(try MockServer.refusedPort())")
      let client = Self.client([replaced.url, slow.url, refusing])
      let isOver = Shared(false)
      let failures = Log<String>()
      let posted = Log<String>()

      try await withThrowingTaskGroup { group in
        for worker in 0..<8 {
          group.addTask {
            var number = 0
            while !isOver.value, !Task.isCancelled {
              number += 1
              let path = "/\(worker)/\(number)"
              if worker == 0 {
                // Its connection may be lost after the request was processed: only answered ones count.
                if try await Self.post(RequestTarget(text: path), client) { posted.add(path) }
              } else {
                do {
                  _ = try await client.get(RequestTarget(text: path), options: .cache(.off))
                } catch {
                  failures.add("\(error)")
                }
              }
            }
          }
        }
        for _ in 0..<50 {
          let count = replaced.count.value
          await replaced.count.wait { $0 >= count + 60 }
          replaced.stop()
          try replaced.start()
        }
        isOver.withLock { $0 = true }
        try await group.waitForAll()
      }

      #expect(failures.elements.isEmpty, "\(failures.elements.prefix(3))")
      let processed = replaced.processed.value.merging(slow.processed.value, uniquingKeysWith: +)
      #expect(posted.elements.count > 100)
      #expect(posted.elements.allSatisfy { processed["POST \($0)"] == 1 })
      #expect(processed.allSatisfy { !$0.key.hasPrefix("POST") || $0.value == 1 })
      #expect(client.activity.current.totals.started > 5_000)
      replaced.stop()
      slow.stop()
    }

    /// Whether the request was answered.
    private static func post(_ target: RequestTarget, _ client: HTTPClient) async throws -> Bool {
      do {
        _ = try await client.post(target, body: .text("x"))
        return true
      } catch let error as HTTPError where error.isConnectivity {
        return false
      }
    }
  }
#endif
