#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// Many requests of all kinds leak no descriptors, threads or memory.
  ///
  /// `MARTLET_LEAK_COUNT` is the number of requests over all transports. The guarantee covers 100,000 requests; a
  /// normal run makes fewer.
  @Suite(.ownThreads, .needs(.proc), .hangLimit) struct LeakTests {
    @Test(arguments: Lane.engines)
    func `answered, redirected, reset and cancelled requests leak no resources`(_ lane: Lane) async throws {
      let count = (Figures.setting("MARTLET_LEAK_COUNT") ?? (Stress.count(2_000, full: 60_000))) / Lane.engines.count
      // The server runs in a different process, so the client's memory and descriptors are counted alone.
      let server = try ByteServer { LeakMix.script($0) }
      defer { server.stop() }

      let child = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        [lane = lane as Lane, count = count as Int, port = server.port as Int] in
        // Otherwise each additional thread of Dispatch has its own heap, which looks like a leak.
        ProcessFacts.limitArenas()
        let client = lane.client {
          $0.redirects = .follow
          $0.maximumConnectionsPerHost = 8
        }
        let start = ContinuousClock.now
        let warm = min(10_000, count / 3)
        let first = await LeakMix.run(0..<warm, client, port)
        let before = await LeakMix.Rest(client, port)

        var wrong = first
        var memory = [before.residentBytes]
        var after = before
        for part in 0..<5 {
          let rest = count - warm
          wrong += await LeakMix.run((warm + rest * part / 5)..<(warm + rest * (part + 1) / 5), client, port)
          after = await LeakMix.Rest(client, port)
          memory.append(after.residentBytes)
        }

        Figures.record(
          "leaks (\(lane)): \(count) requests in \(Figures.milliseconds(ContinuousClock.now - start)); KiB more than after "
            + "the first \(warm): \(memory.dropFirst().map { ($0 - before.residentBytes) >> 10 }); descriptors "
            + "\(before.descriptors) to \(after.descriptors), threads \(before.threads) to \(after.threads)")
        for wrong in wrong.prefix(10) { Issue.record("\(wrong)") }
        // A lower count is not a leak, because some descriptors were still closing before. The count may grow by all
        // idle connections.
        #expect(after.descriptors - before.descriptors <= 8 + 2)
        // The URLSession transport also uses Dispatch, whose pool grows with the machine's load, up to 64 threads.
        #expect(after.threads - before.threads <= (lane == .curl ? 2 : 64))
        // The heap settles some time after the warm-up, and in steps, so only the second half counts.
        #expect(isSanitized || !Stress.isOn || memory[5] - memory[2] < 3 << 20)
        #expect(client.core.entryCount == 0)
      }
      Figures.show(child)
      #expect(await becomes { server.connectionCount == 0 })
    }
  }

  private enum LeakMix {
    /// The resources of a client without running requests.
    struct Rest {
      let descriptors: Int
      let threads: Int
      let residentBytes: Int

      init(_ client: HTTPClient, _ port: Int) async {
        // Opens all connections that the client keeps.
        await withTaskGroup(of: Void.self) { group in
          for _ in 0..<64 { group.addTask { _ = try? await client.get("http://127.0.0.1:\(port)/0") } }
        }
        _ = await becomes { client.core.entryCount == 0 }
        try? await Task.sleep(for: .milliseconds(200))
        descriptors = ProcessFacts.descriptorCount
        threads = ProcessFacts.threadCount
        residentBytes = ProcessFacts.residentBytes
      }
    }

    static func script(_ number: Int) -> ByteServer.Script {
      func answer(_ text: String) -> ByteServer.Script {
        ByteServer.Script(pieces: [Array("HTTP/1.1 \(text)".utf8)], end: .keep)
      }
      return switch number % 10 {
      case 6: answer("404 Not Found\r\nContent-Length: 4\r\n\r\ngone")
      case 7: answer("302 Found\r\nLocation: /\(number + 3)\r\nContent-Length: 0\r\n\r\n")
      case 8: ByteServer.Script(pieces: [], end: .reset)
      case 9: ByteServer.Script(pieces: [], end: .keep)
      default: answer("200 OK\r\nContent-Length: 5\r\n\r\nhello")
      }
    }

    /// Sends requests, 32 at a time.
    ///
    /// - Returns: The requests that failed unexpectedly.
    static func run(_ numbers: Range<Int>, _ client: HTTPClient, _ port: Int) async -> [String] {
      await withTaskGroup(of: [String].self) { group in
        for worker in 0..<32 {
          group.addTask {
            var wrong: [String] = []
            for number in stride(from: numbers.lowerBound + worker, to: numbers.upperBound, by: 32) {
              let end = await ask(number, client, port)
              let expected =
                switch number % 10 {
                case 6: "404 gone"
                case 8: "connectionLost"
                case 9: "cancelled"
                default: "200 hello"
                }
              if end != expected { wrong.append("\(number): \(end)") }
            }
            return wrong
          }
        }
        return await group.reduce([], +)
      }
    }

    private static func ask(_ number: Int, _ client: HTTPClient, _ port: Int) async -> String {
      let target: RequestTarget = "http://127.0.0.1:\(port)/\(number)"
      do {
        guard number % 10 == 9 else {
          let response = try await client.get(target)
          return "\(response.status.rawValue) \(response.text)"
        }
        let handle = client.start(.get(target))
        try await Task.sleep(for: .microseconds(Int.random(in: 0...4_000)))
        handle.cancel()
        return try await handle.value.text
      } catch is CancellationError {
        return "cancelled"
      } catch let error as HTTPError {
        return "\(error.kind)"
      } catch {
        return "\(error)"
      }
    }
  }
#endif
