#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// Load limits for servers, and deadlines, over sockets.
  @Suite(.hangLimit) struct LoadOverSocketsTests {
    @Test(arguments: Lane.engines) func `a hedge overtakes a server that does not answer`(_ lane: Lane) async throws {
      let count = Shared(0)
      let server = try MockServer { _ in
        let number = count.withLock { count in
          count += 1
          return count
        }
        return number == 1 ? .hang : .ok("second")
      }
      defer { server.stop() }
      let client = lane.client()

      let response = try await client.get(
        RequestTarget(server.url), options: .hedging(.after(.milliseconds(300))).explains())

      #expect(response.text == "second")
      #expect(client.activity.current.totals.hedges == 1)
    }

    @Test(.needsHTTP2Server, arguments: Lane.engines)
    func `a hedge over HTTP/2 shares the connection, which stays usable`(
      _ lane: Lane
    ) async throws {
      let authority = try await CertificateAuthority()
      let server = try await HTTP2Server(try await authority.identity())
      let client = lane.client { [root = authority.root] in $0.tls = .customRoots(pem: root) }
      _ = try await client.get(server.target(1, ["head:200", "last:x"]))

      let response = try await client.get(
        server.target(2, ["again", "head:200", "last:second"]), options: .hedging(.after(.milliseconds(300))))

      #expect(response.text == "second")
      #expect(server.count(of: 2) == 2)
      #expect(try await client.get(server.target(3, ["head:200", "last:third"])).text == "third")
      #expect(server.connectionCount() == 1)
      #expect(client.activity.current.totals.hedges == 1)
      await client.waitUntilEmpty()
    }

    @Test(arguments: Lane.engines) func `a deadline ends requests that wait for a connection, a head or a body`(
      _ lane: Lane
    ) async throws {
      let server = try MockServer { request in
        request.path == "/body" ? .steps([.text("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"), .hang]) : .hang
      }
      defer { server.stop() }
      let client = lane.client { $0.maximumConnectionsPerHost = 2 }

      let errors = await withDeadline(.seconds(1), name: "all") {
        await withTaskGroup { group in
          for path in ["/body", "/head", "/queued", "/queued"] {
            group.addTask {
              do {
                _ = try await client.get(RequestTarget(server.url(path)))
                return nil as HTTPError?
              } catch { return error as? HTTPError }
            }
          }
          return await group.reduce(into: [HTTPError?]()) { $0.append($1) }
        }
      }

      #expect(errors.count == 4)
      #expect(errors.allSatisfy { $0?.kind == .timedOut && $0?.deadline?.name == "all" })
      await client.waitUntilEmpty()
    }

    @Test(arguments: Lane.engines) func `an adaptive limit delays many requests, and all receive a response`(
      _ lane: Lane
    ) async throws {
      let server = try MockServer(.ok("x").delayed(by: .milliseconds(5)))
      defer { server.stop() }
      let client = lane.client {
        $0.concurrency = .adaptive(1...20)
        $0.options.coalesces = false
        // A busy machine may keep a request waiting for a long time.
        $0.concurrency.maximumWait = hangPatience
      }

      let requests = (0..<300).map { _ in client.start(.get(RequestTarget(server.url))) }
      for request in requests { #expect(try await request.value.text == "x") }

      #expect(server.connectionCount <= 20)
      #expect(client.activity.current.loads.first?.running == 0)
    }
  }
#endif
