#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// A thousand requests at once, with each test in its own process.
  @Suite(.ownThreads, .needs(.proc), .hangLimit) struct ManyRequestsTests {
    @Test(arguments: Lane.engines)
    func `cancels hundreds of waiting requests together`(_ lane: Lane) async {
      let child = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        [lane = lane as Lane] in
        ProcessFacts.raiseDescriptorLimit()
        let count = Stress.count(100, full: 1_000)
        let server = try MockServer(answering: { $0.path == "/warm" ? .ok("warm") : .hang })
        let client = lane.client {
          $0.maximumConnectionsPerHost = count
          $0.maximumConnections = count
        }
        _ = try await client.get(RequestTarget(server.url("/warm")))
        let descriptors = ProcessFacts.descriptorCount

        for way in CancelWay.allCases where way != .scope {
          server.forgetRequests()
          let handles = way == .handle ? (0..<count).map { _ in client.start(.get(RequestTarget(server.url))) } : []
          let callers = (0..<count).map { number in
            Task {
              if way == .handle { return try await handles[number].value }
              return try await client.get(RequestTarget(server.url))
            }
          }
          let haveArrived = await server.waitForRequests(count)
          #expect(haveArrived)
          guard haveArrived else {
            let now = client.activity.current
            Figures.record(
              "of \(count) (\(way)) \(server.requests.count) have arrived on \(server.openConnections) connections, "
                + "\(now.running.count) run, \(now.waiting.count) wait")
            client.cancelAll()
            for caller in callers.prefix(3) { Figures.record("\(await caller.result)") }
            continue
          }
          let (start, work) = (ContinuousClock.now, ProcessFacts.processorTime)
          if way == .handle { client.cancelAll() } else { for caller in callers { caller.cancel() } }
          for caller in callers { await #expect(throws: CancellationError.self) { try await caller.value } }
          let returned = ContinuousClock.now - start
          #expect(await server.waitForOpenConnections(atMost: 0))
          let (closed, worked) = (ContinuousClock.now - start, ProcessFacts.processorTime - work)

          Figures.record(
            "cancel \(count) in flight (\(lane), \(way)): all returned after \(Figures.milliseconds(returned)), "
              + "all sockets closed after \(Figures.milliseconds(closed)), \(Figures.milliseconds(worked)) of work")
          #expect(!Stress.isOn || isSanitized || (worked < .seconds(5) && closed < .seconds(30)))
        }
        // Both ends of the warm connection are closed as well.
        #expect(await becomes { ProcessFacts.descriptorCount <= descriptors })
        #expect(await becomes { client.core.entryCount == 0 })
        server.stop()
      }
      Figures.show(child)
    }

    @Test(arguments: Lane.engines)
    func `hundreds of requests end despite random cancellations and server restarts`(_ lane: Lane) async {
      let child = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        [lane = lane as Lane] in
        ProcessFacts.raiseDescriptorLimit()
        let server = try ByteServer { number in
          let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: \("\(number)".count)\r\n\r\n\(number)".utf8)
          let end: DeliveryPlan.End = number % 10 == 0 ? .close : number % 10 == 1 ? .reset : .keep
          // Every tenth response is truncated by a reset.
          return ByteServer.Script(pieces: [number % 10 == 1 ? answer.dropLast() : answer], end: end)
        }
        let client = lane.client {
          $0.maximumConnectionsPerHost = 64
          $0.timeout = TimeoutPolicy(connect: .seconds(50), idle: .seconds(50), total: .seconds(55))
        }
        let start = ContinuousClock.now

        async let restarts = Restarts.run(server)
        let ends = await withTaskGroup(of: [String: Int].self) { group in
          for number in 0..<Restarts.count { group.addTask { await Restarts.ask(client, server, number) } }
          return await group.reduce(into: [:]) { $0.merge($1) { $0 + $1 } }
        }
        let count = try await restarts

        Figures.record(
          "restarts (\(lane)): \(count) while \(Restarts.count) at a time made \(ends.values.reduce(0, +)) requests in "
            + "\(Figures.milliseconds(ContinuousClock.now - start)): \(ends.sorted { $0.value > $1.value })")
        let known = ["right", "cancelled", "connectionLost", "cannotConnect"]
        #expect(Set(ends.keys).isSubset(of: known), "\(ends)")
        #expect(ends.values.reduce(0, +) == Restarts.count * Restarts.rounds)
        #expect(ends["right", default: 0] > 0 && ends["cancelled", default: 0] > 0)
        #expect(await becomes { client.core.entryCount == 0 })
        #expect(await becomes { server.connectionCount <= 64 })
        for number in 20..<30 where number % 10 > 1 {
          // Connections from before the last restart are stale, and the new listener may have only just started.
          var text: String?
          let isAnswered = await becomes {
            do { text = try await client.get(server.url(number), options: .retry(.standard)).text } catch {}
            return text != nil
          }
          #expect(isAnswered && text == "\(number)")
        }
        server.stop()
      }
      Figures.show(child)
    }
  }

  private enum Restarts {
    static let count = Stress.count(200, full: 1_000)
    static let rounds = 5

    static func run(_ server: ByteServer) async throws -> Int {
      for _ in 0..<6 {
        try await Task.sleep(for: .milliseconds(150))
        server.stop()
        try await Task.sleep(for: .milliseconds(30))
        try server.start()
      }
      return 6
    }

    /// Sends some requests, cancels about a third of them, and counts how each one ended.
    static func ask(_ client: HTTPClient, _ server: ByteServer, _ number: Int) async -> [String: Int] {
      var ends: [String: Int] = [:]
      for round in 0..<rounds {
        let task = Task { try await client.get(server.url(number)).text }
        if (number + round) % 3 == 0 {
          try? await Task.sleep(for: .microseconds(Int.random(in: 0...200_000)))
          task.cancel()
        } else {
          try? await Task.sleep(for: .milliseconds(Int.random(in: 0...100)))
        }
        let end =
          switch await task.result {
          case .success(let text): text == "\(number)" ? "right" : "wrong: \(text)"
          case .failure(is CancellationError): "cancelled"
          case .failure(let error as HTTPError): "\(error.kind)"
          case .failure(let error): "\(error)"
          }
        ends[end, default: 0] += 1
      }
      return ends
    }
  }
#endif
