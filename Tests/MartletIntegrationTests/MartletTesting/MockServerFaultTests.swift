import Martlet
import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import MartletBase

@Suite(.hangLimit)
struct MockServerFaultTests {
  @Test func `delays, drips and truncates a response`() async throws {
    let steps: [MockResponse.Step] = [
      .text("HTTP/1.1 200 OK\r\n\r\n"), .delay(.milliseconds(30)),
      .drip(Data("abcdef".utf8), chunk: 2, every: .milliseconds(20)), .cut, .text("never"),
    ]
    let server = try MockServer(.steps(steps))
    let start = ContinuousClock.now

    let answer = try await onThread { [port = server.port] in
      let client = try RawClient(port: port)
      try client.send(rawGet())
      return try client.receiveAll()
    }

    #expect(answer == "HTTP/1.1 200 OK\r\n\r\nabcdef")
    #expect(ContinuousClock.now - start >= .milliseconds(70))
    #expect(server.disconnects == 0)
  }

  @Test(arguments: [
    (MockResponse.ok("x"), "x"), (.ok(), ""), (.chunked(["a", "b"]), "ab"), (.ok("x").adding("X-A", "1"), "x"),
  ]) func `truncates a response before its end`(response: MockResponse, text: String) async throws {
    let server = try MockServer(response.thenCut())
    let client = HTTPClient { $0.retry = .off }

    let bytes = Shared(Data())
    let error = await #expect(throws: HTTPError.self) {
      try await client.stream(.get(RequestTarget(server.url))) { response in
        for try await piece in response.body { bytes.withLock { $0 += piece } }
      }
    }

    #expect(error?.kind == .connectionLost)
    #expect(String(decoding: bytes.value, as: UTF8.self) == text)
  }

  @Test func `thenClose delivers the complete response`() async throws {
    let server = try MockServer(.ok("x").thenClose())

    let response = try await HTTPClient().get(RequestTarget(server.url))

    #expect(response.text == "x")
  }

  @Test func `resets the connection`() async throws {
    let server = try MockServer(.steps([.text("HTTP/1.1 200 OK\r\n"), .delay(.milliseconds(20)), .reset]))

    await #expect(throws: RawClient.Failure.self) {
      try await onThread { [port = server.port] in
        let client = try RawClient(port: port)
        try client.send(rawGet())
        return try client.receiveAll()
      }
    }
  }

  @Test(arguments: [true, false])
  func `detects a client that disconnects while waiting`(pausesReading: Bool) async throws {
    var response = MockResponse.hang
    response.pausesReading = pausesReading
    let server = try MockServer(response)

    try await onThread { [port = server.port] in
      let client = try RawClient(port: port)
      try client.send(rawGet())
    }

    #expect(await server.waitForRequests(1))
    #expect(await server.waitForOpenConnections(atMost: 0))
    #expect(server.disconnects == 1)
  }

  @Test func `cancels the responder's task when the client disconnects`() async throws {
    let server = try MockServer { _ in
      try? await Task.sleep(for: .seconds(600))
      return .ok(Task.isCancelled ? "cancelled" : "slept")
    }

    try await onThread { [server] in
      let client = try RawClient(port: server.port)
      try client.send(rawGet())
      while server.requests.isEmpty { usleep(1_000) }
    }

    #expect(await server.waitForOpenConnections(atMost: 0))
    #expect(server.disconnects == 1)
  }

  @Test func `does not count an expected close as a disconnect`() async throws {
    let server = try MockServer(.steps([.message(.init(status: 200)), .waitForClose]))

    _ = try await onThread { [port = server.port] in
      let client = try RawClient(port: port)
      try client.send(rawGet())
      return try client.receive(until: "\r\n\r\n")
    }

    #expect(await server.waitForOpenConnections(atMost: 0))
    #expect(server.disconnects == 0)
  }

  @Test func `stops with hanging connections, and then refuses new ones`() async throws {
    let server = try MockServer { _ in
      try? await Task.sleep(for: .seconds(600))
      return .ok()
    }
    let client = Task { [port = server.port] in
      try await onThread {
        let clients = try (0..<20).map { _ in try RawClient(port: port) }
        for client in clients { try client.send(rawGet()) }
        return try clients.map { try $0.receiveAll() }
      }
    }
    #expect(await server.waitForRequests(20))
    let start = ContinuousClock.now

    server.stop()
    let held = server.stopAndHoldPort()

    #expect(ContinuousClock.now - start < .seconds(60))
    #expect(try await client.value == Array(repeating: "", count: 20))
    #expect(await server.waitForOpenConnections(atMost: 0))
    await #expect(throws: RawClient.Failure.self) {
      try await onThread { [port = server.port] in _ = try RawClient(port: port) }
    }
    withExtendedLifetime(held) {}
  }

  @Test func `can be stopped by its own responder`() async throws {
    let slot = Locked<MockServer?>(nil)
    let server = try MockServer(answering: { _ in
      let start = ContinuousClock.now
      slot.withLock { $0 }?.stop()
      // A server that waited for its own handler would wait for a second.
      return .ok("after \(!Stress.isOn || ContinuousClock.now - start < .milliseconds(900))")
    })
    slot.withLock { $0 = server }

    let answer = try await onThread { [port = server.port] in
      let client = try RawClient(port: port)
      try client.send(rawGet())
      return try client.receiveAll()
    }

    #expect(answer.hasSuffix("after true"))
    #expect(await server.waitForOpenConnections(atMost: 0))
  }

  @Test func `stops when it is released`() async throws {
    var server: MockServer? = try MockServer(.ok())
    let port = try #require(server?.port)
    server = nil

    let held = HeldPort(port)
    await #expect(throws: RawClient.Failure.self) {
      try await onThread { _ = try RawClient(port: port) }
    }
    withExtendedLifetime(held) {}
  }

  @Test func `responds before it reads the body`() async throws {
    let server = try MockServer(script: [.status(413).withoutReadingBody(), .ok("next")])

    let answers = try await onThread { [port = server.port] in
      let client = try RawClient(port: port)
      try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc")
      let early = try client.receive(until: "\r\n\r\n")
      try client.send("def" + rawGet())
      return [early, try client.receive(until: "next")]
    }

    #expect(answers.first == "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n")
    #expect(answers.last?.hasPrefix("HTTP/1.1 200 OK") == true)
    #expect(server.requests.first?.text == "abcdef")
  }

  @Test func `stalls an upload while it responds`() async throws {
    let response = MockResponse.ok("late").delayed(by: .milliseconds(100)).withoutReadingBody(pausesReading: true)
    let server = try MockServer(response)

    _ = try await onThread { [port = server.port] in
      let client = try RawClient(port: port)
      try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(16 << 20)\r\n\r\n")
      try client.send([UInt8](repeating: 1, count: 16 << 20))
      return try client.receive(until: "late")
    }

    #expect(await server.wait { $0.requests.first?.isComplete == true })
    #expect(server.requests.first?.bodyLength == 16 << 20)
  }

  @Test func `calls earlyAnswer before it reads the body`() async throws {
    let options = MockServer.Options(earlyAnswer: { $0.target == "/early" ? .status(401).thenClose() : nil })
    let server = try MockServer(options: options, answering: { .ok("<\($0.text)>") })

    let answers = try await onThread { [port = server.port] in
      let early = try RawClient(port: port)
      try early.send("POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\n")
      let late = try RawClient(port: port)
      try late.send("POST /late HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc")
      return [try early.receiveAll(), try late.receiveAll()]
    }

    #expect(answers.first?.hasPrefix("HTTP/1.1 401 Unauthorized") == true)
    #expect(answers.last?.hasSuffix("<abc>") == true)
  }

  @Test func `sends 100 Continue before it reads the body`() async throws {
    let server = try MockServer(.ok("done"))

    let answers = try await onThread { [port = server.port] in
      let client = try RawClient(port: port)
      try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
      let interim = try client.receive(until: "\r\n\r\n")
      try client.send("abc")
      return [interim, try client.receive(until: "done")]
    }

    #expect(answers.first == "HTTP/1.1 100 Continue\r\n\r\n")
    #expect(server.requests.first?.text == "abc")
  }

  @Test func `closes the connection after an early response to Expect: 100-continue`() async throws {
    let server = try MockServer(.status(417).withoutReadingBody())

    let answer = try await onThread { [port = server.port] in
      let client = try RawClient(port: port)
      try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
      return try client.receiveAll()
    }

    #expect(answer.hasPrefix("HTTP/1.1 417 "))
  }

  @Test func `follows a plan for each connection`() async throws {
    let options = MockServer.Options(onConnect: { number in
      switch number {
      case 0: .closeAtOnce
      case 1: .closeAfter(requests: 1)
      case 2: .delayedClose(after: .milliseconds(30))
      case 3: .closeWhenIdle(for: .seconds(5))
      case 4: .greet([.text("hello "), .cut])
      case 5: .slowReading(bytes: 20, every: .milliseconds(5))
      default: .serve
      }
    })
    let server = try MockServer(.ok("done"), options: options)

    let answers = try await onThread { [port = server.port] in
      try (0..<6).map { number in
        let client = try RawClient(port: port)
        if [1, 3].contains(number) { try client.send(rawGet()) }
        if number == 5 { try client.send(rawGet("/", "Connection: close\r\n")) }
        return String(try client.receiveAll().split(separator: "\r\n").last ?? "")
      }
    }

    #expect(answers == ["", "done", "", "done", "hello ", "done"])
    #expect(await server.waitForOpenConnections(atMost: 0))
  }

  @Test func `resets and stalls connections as planned`() async throws {
    let options = MockServer.Options(onConnect: { $0 == 0 ? .resetAtOnce : .acceptAndStall })
    let server = try MockServer(.ok(), options: options)

    await #expect(throws: RawClient.Failure.self) {
      try await onThread { [port = server.port] in
        let client = try RawClient(port: port)
        _ = try client.receiveAll()
      }
    }
    await #expect(throws: RawClient.Failure.self) {
      try await onThread { [port = server.port] in
        let client = try RawClient(port: port, timeout: 0.2)
        try client.send(rawGet())
        _ = try client.receiveAll()
      }
    }

    #expect(await server.waitForOpenConnections(atMost: 0))
    #expect(server.requests.isEmpty)
  }

  @Test func `provides a port that refuses connections`() async throws {
    let port = try MockServer.refusedPort()

    await #expect(throws: RawClient.Failure.self) {
      try await onThread { _ = try RawClient(port: port) }
    }
  }

  #if os(Linux)
    @Test func `provides a port that never accepts connections`() async throws {
      let hole = try BlackHole()

      let failure = await #expect(throws: RawClient.Failure.self) {
        // `connect` obeys the send timeout.
        try await onThread { [port = hole.port] in _ = try RawClient(port: port, timeout: 0.2) }
      }

      #expect(failure?.code == EINPROGRESS)
      hole.close()
    }
  #endif
}
