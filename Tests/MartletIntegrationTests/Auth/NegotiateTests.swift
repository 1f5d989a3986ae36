#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// Kerberos tickets, with a third-party key distribution center and a third-party server.
  ///
  /// The clients run in separate processes, because environment variables contain the location of the tickets.
  @Suite(.needsKerberos, .ticketServer, .ownThreads, .hangLimit) struct NegotiateTests {
    @Test(arguments: Lane.engines, [true, false])
    func `authenticates each request with a ticket on its own connection`(lane: Lane, isSecure: Bool) async throws {
      let server = try #require(TicketServer.current)
      let path = "/each/\(lane)/\(isSecure)"

      await #expect(processExitsWith: .success) {
        [
          lane = lane as Lane, isSecure = isSecure as Bool, path = path as String,
          place = server.place as TicketServer.Place, ticket = server.ticket as KerberosRealm.Ticket
        ] in
        ticket.use()
        let notes = StatusNotes()
        let url = place.url(path, isSecure: isSecure)
        let client = place.client(lane) {
          $0.exchangeMiddleware = [notes]
          $0.authenticators[.origin(place.origin(isSecure: isSecure))] = .negotiate(isAllowedWithoutTLS: !isSecure)
        }
        let pieces = AsyncStream<Data> {
          for _ in 0..<10 { $0.yield(Data(repeating: 1, count: 30_000)) }
          $0.finish()
        }

        let first = try await client.get(url)
        let second = try await client.get(url)
        let third = try await client.post(url, body: .data(Data(repeating: 1, count: 300_000)))
        let fourth = try await client.put(url, body: .stream(pieces))

        #expect([first, second].map(\.text) == Array(repeating: "ada@MARTLET.TEST 0", count: 2))
        #expect([third, fourth].map(\.text) == Array(repeating: "ada@MARTLET.TEST 300000", count: 2))
        #expect(notes.all == [401, 200, 200, 200, 200])
        #expect([first, second, third, fourth].allSatisfy { $0.httpVersion == .http1_1 })
      }

      // The backend received each request once and completely.
      let received = server.backend.requests.filter { $0.path == path }
      #expect(received.map { "\($0.method) \($0.bodyLength)" } == ["GET 0", "GET 0", "POST 300000", "PUT 300000"])
      // Apache writes the log entries shortly after it responds.
      #expect(await becomes { (try? server.entries(path).count) ?? 0 >= 5 })
      let entries = try server.entries(path)
      let proofs = entries.filter { $0.scheme == "Negotiate" }
      // Apache does not write its entries in the order of the responses, which `notes` records.
      #expect(entries.filter { $0.scheme != "Negotiate" }.map { "\($0.status) \($0.scheme)" } == ["401 -"])
      #expect(proofs.map(\.status) == ["200", "200", "200", "200"], "\(entries)")
      #expect(entries.count == 5 && Set(entries.map(\.connection)).count == 5)
    }

    @Test(arguments: Lane.engines)
    func `requests without a ticket never use a connection that a ticket has authenticated`(lane: Lane) async throws {
      let server = try #require(TicketServer.current)
      let path = "/mixed/\(lane)"

      await #expect(processExitsWith: .success) {
        [
          lane = lane as Lane, path = path as String, place = server.place as TicketServer.Place,
          ticket = server.ticket as KerberosRealm.Ticket
        ] in
        ticket.use()
        let client = place.client(lane)
        let texts = try await withThrowingTaskGroup { group in
          for number in 0..<24 {
            group.addTask {
              let isKnown = number % 3 != 0
              let response = try await client.get(
                place.url(path), options: isKnown ? .credential(.ticket()) : RequestOptions())
              return "\(isKnown) \(response.status.rawValue) \(response.status == .ok ? response.text : "")"
            }
          }
          return try await group.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(texts == ["true 200 ada@MARTLET.TEST 0": 16, "false 401 ": 8])
      }

      #expect(await becomes { (try? server.entries(path).count { $0.scheme == "Negotiate" }) ?? 0 >= 16 })
      let entries = try server.entries(path)
      let proved = Set(entries.filter { $0.scheme == "Negotiate" }.map(\.connection))
      #expect(proved.count == 16)
      #expect(proved.isDisjoint(with: entries.filter { $0.scheme != "Negotiate" }.map(\.connection)))
    }

    /// The reason a client cannot authenticate.
    enum Obstacle: String, Codable, CaseIterable {
      case notSignedIn, centreOutOfReach, unknownHost, serverWithoutTheKey

      var host: String {
        switch self {
        case .notSignedIn, .centreOutOfReach: "www"
        case .unknownHost: "unknown"
        case .serverWithoutTheKey: "other"
        }
      }
    }

    @Test(arguments: Lane.engines, Obstacle.allCases)
    func `returns the 401 if no ticket can be obtained or the server rejects it`(lane: Lane, obstacle: Obstacle)
      async throws
    {
      let server = try #require(TicketServer.current)
      let path = "/without/\(lane)/\(obstacle)"
      let ticket =
        switch obstacle {
        case .notSignedIn: server.nothing
        case .centreOutOfReach: server.cutOff
        case .unknownHost, .serverWithoutTheKey: server.ticket
        }

      await #expect(processExitsWith: .success) {
        [
          lane = lane as Lane, path = path as String, host = obstacle.host as String,
          place = server.place as TicketServer.Place, ticket = ticket as KerberosRealm.Ticket
        ] in
        ticket.use()
        // The request has no timeout, because a timeout would hide a hang.
        let options = RequestOptions.timeout(.unlimited)
        let client = place.client(lane) { $0.authenticators[.origin(place.origin(host: host))] = .negotiate() }

        let response = try await client.get(place.url(path, host: host), options: options)

        #expect(response.status == .unauthorized && response.text.contains("Unauthorized"))
      }

      // The client sends a token only if it has a ticket for the server.
      #expect(
        await becomes {
          (try? server.entries(path).contains { $0.scheme == "Negotiate" }) == (obstacle == .serverWithoutTheKey)
        })
      let entries = try server.entries(path)
      #expect(entries.allSatisfy { $0.status == "401" } && entries.count <= 4)
      #expect(entries.contains { $0.scheme == "Negotiate" } == (obstacle == .serverWithoutTheKey), "\(entries)")
      #expect(!server.backend.requests.contains { $0.path == path })
    }
  }
#endif
