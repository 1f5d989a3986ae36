#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// Requests that a server refuses before it processes them (RFC 9113 §8.7); they are sent again whatever their
  /// method.
  @Suite(.needsHTTP2Server, .hangLimit) struct HTTP2RefusedTests {
    /// The connection on which a request is refused.
    enum Connection: String, CaseIterable {
      case new
      /// The connection has served another request.
      case used
      /// The connection carries other requests: short ones, long ones, and refused ones.
      case shared
    }

    @Test(arguments: Lane.engines, Connection.allCases)
    func `a refused request is served once`(_ lane: Lane, _ connection: Connection) async throws {
      let authority = try await CertificateAuthority()
      let server = try await HTTP2Server(try await authority.identity())
      let rounds = Figures.setting("MARTLET_REFUSALS") ?? Stress.count(12, full: 210)
      let root = authority.root
      let shared = lane.client(.trusting(root), .retry(.standard), .maximumConnectionsPerHost(50))

      let problems = await withTaskGroup { group in
        for worker in 0..<6 {
          group.addTask {
            var problems: [String] = []
            for round in stride(from: worker, to: rounds, by: 6) {
              let client =
                connection == .shared
                ? shared : lane.client(.trusting(root), .retry(.standard), .maximumConnectionsPerHost(50))
              problems += await Self.problems(in: round, connection, client, server)
            }
            return problems
          }
        }
        return await group.reduce(into: [String]()) { $0 += $1 }
      }

      #expect(problems.isEmpty, "\(problems.count) problems: \(problems.first ?? "")")
      #expect(server.repeatedNumbers.isEmpty)
      // If the client closes a connection because of a server's error, the requests on it are lost.
      #expect(!server.errors.contains("GOAWAY"), "\(server.errors.suffix(200))")
      #expect(server.refusedCount == rounds * (connection == .shared ? 4 : 1))
    }

    private static func problems(
      in round: Int, _ connection: Connection, _ client: HTTPClient, _ server: HTTP2Server
    ) async -> [String] {
      let first = 100 * round
      // Opens the connection, with a window for large bodies.
      if connection != .new, let problem = await problem(client, server, first, ["slow:0", "head", "last:ok"], nil) {
        return [problem]
      }
      return await withTaskGroup { group in
        for number in 1...(connection == .shared ? 12 : 1) {
          let isRefused = connection != .shared || number % 3 == 0
          let isLarge = round % 4 == 3
          var steps = isLarge ? ["slow:0"] : []
          // If a connection ends, so do its other requests, which may have been processed.
          if isRefused { steps.append(connection != .shared && round % 3 == 2 ? "refuse:0:-2" : "refuse") }
          steps += number % 3 == 2 ? ["head", "20*fill:16384", "last:"] : ["head", "last:ok"]
          let body: HTTPBody? =
            (number + round) % 2 == 0 ? nil : .text(String(repeating: "x", count: isLarge ? 100_000 : 1))
          group.addTask { [steps] in await problem(client, server, first + number, steps, body).map { [$0] } ?? [] }
        }
        return await group.reduce(into: []) { $0 += $1 }
      }
    }

    private static func problem(
      _ client: HTTPClient, _ server: HTTP2Server, _ number: Int, _ steps: [String], _ body: HTTPBody?
    ) async -> String? {
      let request = HTTPRequest(body == nil ? .get : .post, server.target(number, steps), body: body)
      do {
        let response = try await client.send(request)
        let count = steps.contains("20*fill:16384") ? 20 * 16384 : 2
        guard response.headers["x-number"] == "\(number)", response.body.count == count else {
          return "\(number) \(steps): \(response.body.count) bytes for \(response.headers["x-number"] ?? "")"
        }
        return nil
      } catch { return "\(request.method) \(number) \(steps): \(error)" }
    }
  }
#endif
