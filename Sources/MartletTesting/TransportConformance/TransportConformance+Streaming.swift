import Foundation
import Martlet

extension TransportConformance {
  /// Streamed bodies, and cancelled exchanges.
  static let streamingCases: [Case] = [
    Case("delivers the first bytes before the last are sent") { bench in
      // A loader may hold back a few bytes of an unknown type to guess it, but not for events.
      let head = Bench.ok + "Content-Type: text/event-stream\r\nContent-Length: 100\r\n\r\n"
      let server = try MockServer(.steps([.text(head + "data: 1\n\n"), .hang]))
      let first = try await bench.client.stream(.get(RequestTarget(server.url))) { response in
        var pieces = response.body.makeAsyncIterator()
        return try await pieces.next()
      }
      try bench.expect("the first piece", first, is: Data("data: 1\n\n".utf8))
    },
    Case("delivers the head before the body is sent") { bench in
      let server = try MockServer(.steps([.text(Bench.ok + "X-A: 1\r\nContent-Length: 100\r\n\r\n"), .hang]))
      let value = try await bench.client.stream(.get(RequestTarget(server.url))) { $0.headers["X-A"] }
      try bench.expect("X-A", value, is: "1")
    },
    Case("delivers a body that arrives slowly") { bench in
      let sent = Bench.bytes(400)
      let server = try MockServer(
        .steps([.text(Bench.ok + "Content-Length: 400\r\n\r\n"), .drip(sent, chunk: 40, every: .milliseconds(10))]))
      let received = try await bench.client.stream(.get(RequestTarget(server.url))) { response in
        var whole = Data()
        for try await piece in response.body { whole += piece }
        return whole
      }
      try bench.expect("the body", received, is: sent)
    },
    Case("delivers a body to a reader that is slower than the network") { bench in
      let server = try MockServer(.data(Bench.megabyte))
      let received = try await bench.client.stream(.get(RequestTarget(server.url))) { response in
        var whole = Data()
        for try await piece in response.body {
          whole += piece
          if whole.count < 100_000 { try await Task.sleep(for: .milliseconds(5)) }
        }
        return whole
      }
      try bench.expect("the body", received, is: Bench.megabyte)
    },
    Case("ends the exchange when it is cancelled before the head") { bench in
      let server = try MockServer(.hang)
      let task = Task { try await bench.client.send(.get(RequestTarget(server.url))) }
      try bench.expect("a request", await server.waitForRequests(1))
      try await expectCancelled(bench, task, server)
    },
    Case("ends the exchange when it is cancelled in the body") { bench in
      let server = try MockServer(.steps([.text(Bench.ok + "Content-Length: 100000\r\n\r\n" + hello), .hang]))
      let seen = EventRecorder<Data>()
      let task = Task {
        try await bench.client.stream(.get(RequestTarget(server.url))) { response in
          for try await piece in response.body { seen.record(piece) }
        }
      }
      try bench.expect("a first chunk of the body", await seen.wait(for: 1))
      try await expectCancelled(bench, task, server)
    },
    Case("ends the exchange when it is cancelled while it uploads") { bench in
      let server = try MockServer(MockResponse.steps([.hang]).withoutReadingBody(pausesReading: true))
      let body = HTTPBody.data(Bench.bytes(16 << 20))
      let task = Task { try await bench.client.send(.post(RequestTarget(server.url), body: body)) }
      try bench.expect("a request", await server.waitForRequests(1))
      try await expectCancelled(bench, task)
      try bench.expect("an unfinished request", server.requests.first?.isComplete == false)
    },
    Case("ends the exchange when the body is dropped early") { bench in
      // The body is too large to be read to its end by then.
      let body = Data(repeating: 1, count: 1 << 26)
      let server = try MockServer(
        .steps([
          .text("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n"),
          .drip(body, chunk: 1 << 14, every: .milliseconds(5)),
        ]))
      let first = try await bench.client.stream(.get(RequestTarget(server.url))) { response in
        var pieces = response.body.makeAsyncIterator()
        return try await pieces.next()
      }
      try bench.expect("a first chunk of the body", first?.isEmpty == false)
      try await bench.expectClosed(server)
    },
  ]

  /// Enough bytes for a loader that examines the beginning of a body before it delivers it.
  private static let hello = String(repeating: "hello ", count: 1000)

  /// Cancels a task, and checks the client and the server.
  ///
  /// Without `server`, it checks only the client, because a server that does not read notices nothing.
  static func expectCancelled<T: Sendable>(
    _ bench: ConformanceBench, _ task: Task<T, any Error>, _ server: MockServer? = nil
  ) async throws {
    let start = ContinuousClock.now
    task.cancel()
    let result = await task.result
    let elapsed = ContinuousClock.now - start
    switch result {
    case .success: throw bench.failure(expected: "CancellationError", actual: "a result")
    case .failure(let error): try bench.expect("CancellationError", error is CancellationError, actual: "\(error)")
    }
    try bench.expect("an error within \(Bench.promptly)", elapsed < Bench.promptly, actual: "after \(elapsed)")
    if let server { try await bench.expectClosed(server) }
  }
}
