#if os(Linux)
  import Foundation
  import MartletBase
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// Middleware that sends from its own tasks, whose cancellation ends their own exchanges only.
  @Suite(.hangLimit) struct MiddlewareTasksTests {
    /// Sends each request to two paths and returns the first response.
    private struct Racing: Middleware {
      let paths: @Sendable (HTTPRequest) -> [RequestTarget]
      /// The event that the second request awaits.
      var firstIsSent: @Sendable (HTTPRequest) async -> Void = { _ in }

      func intercept(
        _ request: HTTPRequest, context: RequestContext, next: MiddlewareNext
      ) async throws -> StreamedResponse {
        try await withThrowingTaskGroup(of: StreamedResponse.self) { group in
          for (index, path) in paths(request).enumerated() {
            group.addTask {
              if index > 0 { await firstIsSent(request) }
              var request = request
              request.target = path
              var response = try await next(request)
              response.body = ResponseBody(try await response.body.collect(upTo: 1 << 20))
              return response
            }
          }
          defer { group.cancelAll() }
          var failure: (any Error)?
          while let result = await group.nextResult() {
            switch result {
            case .success(let response): return response
            case .failure(let error): failure = error
            }
          }
          throw failure ?? CancellationError()
        }
      }
    }

    private struct TimedOut: Error {}

    /// Limits each exchange to 50 ms.
    private struct Hurrying: Middleware {
      func intercept(
        _ request: HTTPRequest, context: RequestContext, next: MiddlewareNext
      ) async throws -> StreamedResponse {
        try await withThrowingTaskGroup(of: StreamedResponse.self) { group in
          group.addTask { try await next(request) }
          group.addTask {
            try await Task.sleep(for: .milliseconds(50))
            throw TimedOut()
          }
          defer { group.cancelAll() }
          return try await group.next() ?? StreamedResponse(status: .noContent, request: request)
        }
      }
    }

    @Test(arguments: Lane.engines, [false, true])
    func `the loser of a race is cancelled at once, and its connection is closed`(
      _ lane: Lane, isAttempt: Bool
    ) async throws {
      let (silent, quick) = (try MockServer(.hang), try MockServer(.ok("quick")))
      let racing = Racing { _ in [RequestTarget(silent.url), RequestTarget(quick.url)] }
      let client = lane.client {
        $0.timeout = .unlimited
        if isAttempt { $0.exchangeMiddleware = [racing] } else { $0.middleware = [racing] }
      }
      for turn in 1...5 {
        // The silent server never responds, so this call returns only if it does not wait for that response.
        #expect(try await client.get(RequestTarget(quick.url)).text == "quick")
        #expect(await becomes { silent.openConnections == 0 }, "\(turn)")
      }
      #expect(await becomes { client.core.entryCount == 0 })
      #expect(quick.connectionCount == 1)
    }

    @Test(.needsHTTP2Server, arguments: Lane.engines, [false, true])
    func `the loser's stream is reset, and its connection stays open`(_ lane: Lane, hasNeighbor: Bool) async throws {
      let authority = try await CertificateAuthority()
      let server = try await HTTP2Server(try await authority.identity())
      let number: @Sendable (HTTPRequest) -> Int = { Int($0.url?.lastPathComponent ?? "") ?? 0 }
      let racing = Racing(
        paths: { request in
          [server.target(number(request), ["wait:0"]), server.target(1000 + number(request), ["head", "last:quick"])]
        }, firstIsSent: { request in _ = await becomes { server.count(of: number(request)) == 1 } })
      let client = lane.client { [root = authority.root] in
        $0.tls = .customRoots(pem: root)
        $0.timeout = .unlimited
      }
      let neighbor = hasNeighbor ? client.start(.get(server.target(500, ["wait:0"]))) : nil
      if hasNeighbor { #expect(await becomes { server.count(of: 500) == 1 }) }
      await client.update { $0.middleware = [racing] }

      for number in 0..<5 {
        let response = try await client.get("\(raw: server.url)/\(number)")
        #expect(response.text == "quick" && response.httpVersion == .http2)
        #expect(await becomes { server.hasReset(number) }, "\(number)")
      }

      #expect(server.connectionCount() == 1 && server.closedCount == 0)
      neighbor?.cancel()
      #expect(await becomes { client.core.entryCount == 0 })
    }

    /// Cancels requests before the response, during the response and during the upload, at varying moments.
    @Test(.needsHTTP2Server, arguments: Lane.engines)
    func `cancelled streams do not affect other streams on their connection`(_ lane: Lane) async throws {
      let authority = try await CertificateAuthority()
      let server = try await HTTP2Server(try await authority.identity())
      let client = lane.client { [root = authority.root] in
        $0.tls = .customRoots(pem: root)
        $0.timeout = .unlimited
      }
      // Opens the connection that the other requests share.
      _ = try await client.get(server.target(0, ["head", "last:x"]))
      let count = Stress.count(60, full: 600)
      let large = String(repeating: "x", count: 300_000)

      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 1...count {
          if number > 12 { try await group.next() }
          group.addTask {
            let kind = number % 4
            guard kind > 0 else {
              let response = try await client.post(
                server.target(number, ["grant:0", "head", "data:a", "5*fill:14000", "wait:1", "last:b"]),
                body: .text(large))
              #expect(response.body.count == 70_002)
              #expect(response.headers["x-number"] == "\(number)")
              return
            }
            let steps = kind == 1 ? ["wait:0"] : ["grant:0", "head", "2*fill:15000"]
            let request = HTTPRequest(
              kind == 3 ? .put : .get, server.target(number, steps), body: kind == 3 ? .text(large) : nil)
            let task = Task { try await client.send(request) }
            try await Task.sleep(for: .microseconds(number * 7919 % 6000))
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
          }
        }
        try await group.waitForAll()
      }

      #expect(server.connectionCount() == 1, "\(server.errors)")
      #expect(server.closedCount == 0)
      #expect(try await client.get(server.target(count + 1, ["head", "last:end"])).text == "end")
      #expect(await becomes { client.core.entryCount == 0 })
    }

    @Test(arguments: Lane.engines, [false, true])
    func `a time limit in middleware ends its exchange`(_ lane: Lane, isAttempt: Bool) async throws {
      let silent = try MockServer(.hang)
      let client = lane.client {
        $0.timeout = .unlimited
        if isAttempt { $0.exchangeMiddleware = [Hurrying()] } else { $0.middleware = [Hurrying()] }
      }
      var times: [Duration] = []
      for _ in 0..<10 {
        let start = ContinuousClock.now
        await #expect(throws: TimedOut.self) { try await client.get(RequestTarget(silent.url)) }
        times.append(ContinuousClock.now - start)
      }
      Figures.record("50 ms around next (\(lane)): \(times.median.map { Figures.milliseconds($0) } ?? "never")")
      #expect(times.min() ?? .zero >= .milliseconds(50))
      #expect(await becomes { silent.openConnections == 0 && client.core.entryCount == 0 })
    }

    /// Responses arrive after random delays or never, and each must contain its request's number.
    @Test(arguments: Lane.engines) func `random races neither mix up responses nor leak resources`(_ lane: Lane)
      async throws
    {
      let server = try MockServer { request in
        let parts = request.path.split(separator: "/").map(String.init)
        guard parts.count == 2, let wait = Int(parts[1]) else { return .status(404) }
        return wait < 0 ? .hang : .ok(parts[0]).delayed(by: .microseconds(wait))
      }
      let racing = Racing { request in
        let number = request.url?.lastPathComponent ?? ""
        var generator = SeededGenerator(seed: UInt64(number) ?? 0)
        let first = Int.random(in: -300...3000, using: &generator)
        let second = Int.random(in: 0...3000, using: &generator)
        return [first, second].map { RequestTarget("\(raw: server.url)/\(number)/\($0)") }
      }
      let client = lane.client {
        $0.timeout = .unlimited
        $0.maximumConnectionsPerHost = 64
        $0.middleware = [racing]
      }
      let count = Stress.count(400, full: 5_000)
      let ended = Shared(0)

      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<count {
          if number >= 24 { try await group.next() }
          group.addTask {
            let response = try await client.get("\(raw: server.url)/\(number)")
            #expect(response.text == "\(number)")
            ended.withLock { $0 += 1 }
          }
          if number % 64 == 0 { server.forgetRequests() }
        }
        try await group.waitForAll()
      }

      #expect(ended.value == count)
      #expect(await becomes { client.core.entryCount == 0 })
      #expect(client.activity.current.totals.succeeded == count)
      // Every connection is idle or closed, so a new request finds a slot.
      let response = try await client.derived { $0.middleware = [] }.get("\(raw: server.url)/last/0")
      #expect(response.text == "last")
    }
  }
#endif
