import Foundation
import Martlet

extension TransportConformance {
  /// Connections that serve several requests, or must not (RFC 9112 §9).
  static let connectionCases: [Case] = [
    Case("reuses a connection") { bench in
      let server = try MockServer(.ok("hello"))
      for _ in 0..<3 {
        let response = try await bench.send(.get(RequestTarget(server.url)))
        try bench.expect("the body", response.text, is: "hello")
      }
      try bench.expect("the number of connections", server.connectionCount, is: 1)
      try bench.expect("the places on the connection", server.requests.map(\.indexOnConnection), is: [0, 1, 2])
    },
    Case("reuses a connection after a chunked body") { bench in
      let server = try MockServer(.chunked(["hello"]))
      for _ in 0..<2 { _ = try await bench.send(.get(RequestTarget(server.url))) }
      try bench.expect("the number of connections", server.connectionCount, is: 1)
    },
    Case("closes a connection after a response with Connection: close") { bench in
      // Written as raw text, because the server itself must leave the connection open.
      let closing = Bench.ok + "Content-Length: 2\r\nConnection: close\r\n\r\nok"
      let server = try MockServer(.raw(closing, thenClose: false))
      for _ in 0..<2 { _ = try await bench.send(.get(RequestTarget(server.url))) }
      let hasClosed = await server.waitForOpenConnections(atMost: 0, timeout: Bench.promptly)
      try bench.expect("the number of connections", server.connectionCount, is: 2)
      try bench.expect("the connections are closed within \(Bench.promptly)", hasClosed)
    },
    Case("repeats a GET transparently if its connection closed while idle") { bench in
      let server = try MockServer(.ok("hello"), options: .init(onConnect: { _ in .closeAfter(requests: 1) }))
      for _ in 0..<3 {
        let response = try await bench.send(.get(RequestTarget(server.url)), with: bench.repeatingClient)
        try bench.expect("the body", response.text, is: "hello")
        _ = await server.waitForOpenConnections(atMost: 0)
      }
      try bench.expect("the number of requests", server.requests.count, is: 3)
    },
    Case("repeats a GET transparently if its reused connection breaks") { bench in
      let server = try MockServer(connectionScripts: [[.ok("first"), .steps([.cut])], [.ok("second")]])
      let first = try await bench.send(.get(RequestTarget(server.url)), with: bench.repeatingClient)
      let second = try await bench.send(.get(RequestTarget(server.url)), with: bench.repeatingClient)
      try bench.expect("the first body", first.text, is: "first")
      try bench.expect("the second body", second.text, is: "second")
    },
    Case("sends the body of a POST once when its connection dies") { bench in
      try await expectOnePost(bench, body: .text("order"))
    },
    Case("sends a POST without a body once when its connection dies") { bench in
      try await expectOnePost(bench, body: nil)
    },
    Case("sends a POST at most once after a connection died while it was idle") { bench in
      let server = try MockServer(.ok("hello"), options: .init(onConnect: { _ in .closeAfter(requests: 1) }))
      _ = try await bench.send(.get(RequestTarget(server.url)))
      _ = await server.waitForOpenConnections(atMost: 0)
      let outcome = try await bench.outcome(
        of: .post(RequestTarget(server.url), body: .text("order")), with: bench.repeatingClient)
      let posts = server.requests.count { $0.method == "POST" }
      switch outcome {
      case .success: try bench.expect("the number of posts", posts, is: 1)
      case .failure:
        try bench.expectError([.connectionLost], in: outcome)
        try bench.expect("the number of posts", posts, is: 0)
      }
    },
    Case("does not treat bytes after a response as another response") { bench in
      let two = Bench.ok + "Content-Length: 2\r\n\r\nok" + Bench.ok + "Content-Length: 4\r\n\r\nevil"
      let server = try MockServer(script: [.raw(two, thenClose: false), .ok("good")])
      let first = try await bench.send(.get(RequestTarget(server.url)), with: bench.repeatingClient)
      let second = try await bench.send(.get(RequestTarget(server.url)), with: bench.repeatingClient)
      try bench.expect("the first body", first.text, is: "ok")
      try bench.expect("the second body", second.text, is: "good")
    },
    Case("keeps the bodies of 20 parallel requests apart") { bench in
      let server = try MockServer { request in
        let number = Int(request.target.dropFirst()) ?? 0
        return .ok(body(number)).delayed(by: .milliseconds(number * 7 % 20))
      }
      let received = try await withThrowingTaskGroup(of: (Int, String).self) { group in
        for number in 0..<20 {
          group.addTask { (number, try await bench.send(.get(RequestTarget(server.url("/\(number)")))).text) }
        }
        return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
      }
      for number in 0..<20 {
        try bench.expect("body \(number)", received[number] == body(number), actual: received[number] ?? "nothing")
      }
      try bench.expect("the number of requests", server.requests.count, is: 20)
    },
  ]

  private static func body(_ number: Int) -> String { String(repeating: "\(number) ", count: 500 * number + 1) }

  /// Expects a single POST if the connection ends after it; one request has been served there before.
  private static func expectOnePost(_ bench: ConformanceBench, body: HTTPBody?) async throws {
    let server = try MockServer(connectionScripts: [[.ok("first"), .steps([.cut])], [.ok("sent twice")]])
    _ = try await bench.send(.get(RequestTarget(server.url)))
    let outcome = try await bench.outcome(of: .post(RequestTarget(server.url), body: body), with: bench.repeatingClient)
    try bench.expectError([.connectionLost], in: outcome)
    try bench.expect(
      "the number of posts that arrived", server.requests.count { $0.method == "POST" && $0.isComplete }, is: 1)
  }
}
