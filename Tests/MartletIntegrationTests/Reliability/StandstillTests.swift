#if os(Linux)
  import Foundation
  import Martlet
  import TestSupport
  import Testing

  /// A process that was stopped for longer than its limits must not time out: what arrived meanwhile is in its sockets.
  @Suite(.ownThreads, .hangLimit) struct StandstillTests {
    private static let head = Array("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n".utf8)

    /// The idle limit is 1 s, and the process is stopped slightly longer or much longer than that.
    @Test(arguments: Lane.engines, [1_300, 2_500])
    func `bytes received while the process was stopped are read before the limits expire`(
      _ lane: Lane, milliseconds: Int
    ) async throws {
      let server = try ByteServer { number in
        // Sends part of a body, and the rest later.
        if number == 0 {
          return DeliveryPlan(
            pieces: [Self.head + Array("a".utf8), Array("bc".utf8)], pauses: [.milliseconds(500)], end: .keep)
        }
        // The number is the ID of the requesting process, which is stopped until the whole response has been sent.
        kill(pid_t(number), SIGSTOP)
        let pause = Duration.milliseconds(milliseconds / 2)
        var plan = DeliveryPlan(pieces: [Self.head, Array("xyz".utf8)], pauses: [pause, pause], end: .keep)
        plan.onEnd = { kill(pid_t(number), SIGCONT) }
        return plan
      }
      defer { server.stop() }

      await #expect(processExitsWith: .success) { [lane = lane as Lane, port = server.port as Int] in
        let client = lane.client { $0.timeout = TimeoutPolicy(connect: nil, idle: .seconds(1), total: nil) }
        let start = ContinuousClock.now
        let texts = try await client.stream(.get("http://127.0.0.1:\(port)/0")) { response in
          var body = response.body.makeAsyncIterator()
          var text = Data()
          if let piece = try await body.next() { text += piece }
          async let other = client.get("http://127.0.0.1:\(port)/\(getpid())").text
          while let piece = try await body.next() { text += piece }
          return [String(decoding: text, as: UTF8.self), try await other]
        }
        #expect(texts == ["abc", "xyz"])
        #expect(ContinuousClock.now - start >= .seconds(1.3))
      }
    }

    /// A single limit of 1 s.
    enum Limit: String, Codable, CaseIterable {
      case idle
      case firstByte
      case total

      var policy: TimeoutPolicy {
        TimeoutPolicy(
          connect: nil, idle: self == .idle ? .seconds(1) : nil, firstByte: self == .firstByte ? .seconds(1) : nil,
          total: self == .total ? .seconds(1) : nil)
      }
    }

    @Test(arguments: Lane.engines, Limit.allCases)
    func `a response received while the process was stopped is within the limits`(_ lane: Lane, _ limit: Limit)
      async throws
    {
      let server = try ByteServer { number in
        kill(pid_t(number), SIGSTOP)
        // The threads of a process do not all stop at once, so nothing is sent during the first pause.
        let pause = Duration.milliseconds(650)
        var plan = DeliveryPlan(pieces: [[], Self.head + Array("xyz".utf8)], pauses: [pause, pause], end: .keep)
        plan.onEnd = { kill(pid_t(number), SIGCONT) }
        return plan
      }
      defer { server.stop() }

      await #expect(processExitsWith: .success) {
        [lane = lane as Lane, limit = limit as Limit, port = server.port as Int] in
        let client = lane.client { $0.timeout = limit.policy }
        let start = ContinuousClock.now
        let text = try await client.get("http://127.0.0.1:\(port)/\(getpid())").text
        #expect(text == "xyz")
        #expect(ContinuousClock.now - start >= .seconds(1.3))
      }
    }

    @Test(.needsHTTP2Server, arguments: Lane.engines, Limit.allCases)
    func `an HTTP/2 response received while the process was stopped is within the limits`(_ lane: Lane, _ limit: Limit)
      async throws
    {
      let authority = try await CertificateAuthority()
      let server = try await HTTP2Server(try await authority.identity())

      await #expect(processExitsWith: .success) {
        [lane = lane as Lane, limit = limit as Limit, root = authority.root as URL, url = server.url as String] in
        let client = lane.client {
          $0.timeout = limit.policy
          $0.tls = .customRoots(pem: root)
        }
        let process = getpid()
        let steps = [
          "signal:\(SIGSTOP):\(process)", "wait:500", "head", "data:x", "wait:300", "last:yz", "wait:500",
          "signal:\(SIGCONT):\(process)",
        ]
        let start = ContinuousClock.now
        let response = try await client.get(HTTP2Server.target(url, 1, steps))
        #expect(response.text == "xyz" && response.httpVersion == .http2)
        #expect(ContinuousClock.now - start >= .seconds(1.3))
      }
    }
  }
#endif
