import Foundation
import TestSupport
import Testing

@testable import MartletTesting

@Suite(.hangLimit)
struct MockServerTests {
  @Test func `answers several requests on one connection`() async throws {
    let server = try MockServer(answering: MockResponse.echo)

    let answers = try await onThread { [port = server.port] in
      let client = try RawClient(port: port)
      return try ["/a?x=1&y", "/b"].map { target in
        try client.send("POST \(target) HTTP/1.1\r\nHost: test\r\nContent-Length: 3\r\n\r\nabc")
        return try client.receive(until: "abc")
      }
    }

    #expect(answers.first?.hasPrefix("HTTP/1.1 200 OK\r\nX-Method: POST\r\nX-Target: /a?x=1&y\r\n") == true)
    #expect(answers.last?.contains("X-Target: /b\r\n") == true)
    #expect(server.connectionCount == 1)
    let first = try #require(server.requests.first)
    #expect(first.path == "/a")
    #expect(first.query == "x=1&y")
    #expect(first.header("hOST") == "test")
    #expect(first.rawHead == Data("POST /a?x=1&y HTTP/1.1\r\nHost: test\r\nContent-Length: 3\r\n\r\n".utf8))
    #expect(first.text == "abc")
    #expect(server.requests.map(\.indexOnConnection) == [0, 1])
    #expect(server.maximumConcurrentRequests == 1)
  }

  #if os(Linux)
    @Test func `frees its port although another process has a copy of its socket`() throws {
      let port = try MockServer.refusedPort()
      let first = try Sockets.listen(backlog: 1, port: port)
      let copy = dup(first.socket)
      defer { Sockets.close(copy) }
      Sockets.stopListening(first.socket)

      let second = try Sockets.listen(backlog: 1, port: port)
      defer { Sockets.close(second.socket) }

      #expect(second.port == port)
    }
  #endif

  @Test func `answers with an asynchronous closure`() async throws {
    let server = try MockServer { request in
      await Task.yield()
      return .ok("for \(request.target)", headers: ["X-A": "1", "X-A": "2"])
    }

    let answer = try await onThread { [port = server.port] in
      let client = try RawClient(port: port)
      try client.send(rawGet("/x", "Connection: close\r\n"))
      return try client.receiveAll()
    }

    #expect(answer.contains("X-A: 1\r\nX-A: 2\r\n"))
    #expect(answer.hasSuffix("\r\n\r\nfor /x"))
  }

  @Test func `answers 3000 pipelined requests in order`() async throws {
    let server = try MockServer(answering: { .ok("<\($0.target)>") })

    let answer = try await onThread { [port = server.port] in
      let client = try RawClient(port: port)
      try client.send((0..<3000).map { rawGet("/\($0)") }.joined())
      return try client.receive(until: "</2999>")
    }

    let targets = answer.split(separator: "<").dropFirst().compactMap { $0.split(separator: ">").first }
    #expect(targets == (0..<3000).map { "/\($0)" })
    #expect(server.requests.count == 3000)
  }

  @Test func `reads a chunked body with trailers`() async throws {
    let server = try MockServer(.ok("done"))

    _ = try await onThread { [port = server.port] in
      let client = try RawClient(port: port)
      try client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhel")
      try client.send("lo\r\nB\r\n wide world\r\n0\r\nX-Sum: 7\r\n\r\n")
      return try client.receive(until: "done")
    }

    let request = try #require(server.requests.first)
    #expect(request.text == "hello wide world")
    #expect(request.bodyLength == 16)
    #expect(request.trailers == [RecordedRequest.Field("X-Sum", "7")])
    #expect(request.isComplete)
  }

  @Test func `counts the bytes of a large body and records the first of them`() async throws {
    let options = MockServer.Options(maximumKeptBodyBytes: 1000)
    let server = try MockServer(.ok("done"), options: options)

    _ = try await onThread { [port = server.port] in
      let client = try RawClient(port: port)
      try client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: \(8 << 20)\r\n\r\n")
      let block = [UInt8](repeating: 7, count: 1 << 20)
      for _ in 0..<8 { try client.send(block) }
      return try client.receive(until: "done")
    }

    #expect(server.requests.first?.bodyLength == 8 << 20)
    #expect(server.requests.first?.body == Data(repeating: 7, count: 1000))
  }

  @Test func `sends a body of 10 MiB from a repeated pattern`() async throws {
    let server = try MockServer(.repeating(Data("0123456789".utf8), count: 1 << 20))

    let count = try await onThread { [port = server.port] in
      let client = try RawClient(port: port)
      try client.send(rawGet("/", "Connection: close\r\n"))
      return try client.countAll()
    }

    #expect(count == 10 << 20 + "HTTP/1.1 200 OK\r\nContent-Length: 10485760\r\n\r\n".utf8.count)
  }

  @Test func `omits the body for HEAD and 304`() async throws {
    let server = try MockServer(script: [.ok("hello"), .status(304, body: "hello"), .ok("end")])

    let answer = try await onThread { [port = server.port] in
      let client = try RawClient(port: port)
      try client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n" + rawGet() + rawGet("/", "Connection: close\r\n"))
      return try client.receiveAll()
    }

    #expect(answer.components(separatedBy: "hello").count == 1)
    #expect(answer.contains("Content-Length: 5\r\n\r\nHTTP/1.1 304"))
    #expect(answer.hasSuffix("end"))
  }

  @Test func `sends a chunked body with trailers`() async throws {
    let server = try MockServer(.chunked(["hello", "world"], trailers: ["X-T": "1"]))

    let answer = try await onThread { [port = server.port] in
      let client = try RawClient(port: port)
      try client.send("GET / HTTP/1.0\r\n\r\n")
      return try client.receiveAll()
    }

    #expect(answer.hasSuffix("chunked\r\n\r\n5\r\nhello\r\n5\r\nworld\r\n0\r\nX-T: 1\r\n\r\n"))
  }

  @Test func `sends scripted responses in order and repeats the last one`() async throws {
    let server = try MockServer(script: [.status(503), .redirect(to: "/next"), .json("{}")])

    let answer = try await onThread { [port = server.port] in
      let client = try RawClient(port: port)
      try client.send(rawGet() + rawGet() + rawGet() + rawGet("/", "Connection: close\r\n"))
      return try client.receiveAll()
    }

    let statuses = answer.components(separatedBy: "HTTP/1.1 ").dropFirst().map { $0.prefix(3) }
    #expect(statuses == ["503", "302", "200", "200"])
    #expect(answer.contains("Location: /next\r\n"))
  }

  @Test func `follows a script for each connection and then closes the connection`() async throws {
    let server = try MockServer(connectionScripts: [[.ok("one"), .ok("two")], [.raw("garbage")]])

    let answers = try await onThread { [port = server.port] in
      let first = try RawClient(port: port)
      try first.send(rawGet() + rawGet())
      let one = try first.receiveAll()
      let second = try RawClient(port: port)
      try second.send(rawGet())
      return [one, try second.receiveAll()]
    }

    #expect(answers.first?.hasSuffix("two") == true)
    #expect(answers.last == "garbage")
  }

  @Test(arguments: [
    "nonsense\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\nHost: a\n\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nA : b\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
  ])
  func `answers a malformed request with 400 and records it`(bytes: String) async throws {
    let server = try MockServer(.ok())

    let answer = try await onThread { [port = server.port] in
      let client = try RawClient(port: port)
      try client.send(bytes)
      return try client.receiveAll()
    }

    #expect(answer.hasPrefix("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n"))
    #expect(server.malformed.count == 1)
    #expect(await server.waitForOpenConnections(atMost: 0))
    #expect(server.disconnects == 0)
  }

  @Test func `serves many connections at once`() async throws {
    let server = try MockServer(answering: { .ok("<\($0.target)>") })

    let count = Stress.count(100, full: 500)

    let (opened, answers) = try await onThread { [port = server.port] in
      let clients = try (0..<count).map { _ in try RawClient(port: port) }
      var answers = 0
      for round in 0..<3 {
        for (index, client) in clients.enumerated() { try client.send(rawGet("/\(round)-\(index)")) }
        for (index, client) in clients.enumerated() {
          _ = try client.receive(until: "</\(round)-\(index)>")
          answers += 1
        }
      }
      return (clients.count, answers)
    }

    #expect(opened == count)
    #expect(answers == 3 * count)
    #expect(server.connectionCount == count)
    #expect(await server.waitForOpenConnections(atMost: 0))
    #expect(server.disconnects == 0)
  }

  @Test func `serves many small requests on parallel connections`() async throws {
    let server = try MockServer(.ok("done"))
    let count = Stress.count(100, full: 1_000)

    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask { [port = server.port] in
          try await onThread {
            let client = try RawClient(port: port)
            for _ in 0..<count {
              try client.send(rawGet())
              _ = try client.receive(until: "done")
            }
          }
        }
      }
      try await group.waitForAll()
    }

    #expect(server.requests.count == 4 * count)
  }
}
