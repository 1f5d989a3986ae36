import Foundation
import Martlet

extension TransportConformance {
  /// Request bodies that are streamed.
  static let bodyStreamCases: [Case] = [
    streamCase("uploads a stream with its length") { bench in
      let length = Int64(Bench.megabyte.count)
      let body = HTTPBody.stream(Pieces(Bench.megabyte, of: 10_007), length: length)
      let request = try await bench.arrival(of: .post("", body: body))
      try bench.expect("the body", request.body, is: Bench.megabyte)
      try bench.expect("Content-Length", request.headers(named: "Content-Length"), is: ["\(length)"])
      try bench.expect("Transfer-Encoding", request.header("Transfer-Encoding"), is: nil)
    },
    streamCase("uploads a stream of unknown length in chunks") { bench in
      let request = try await bench.arrival(of: .post("", body: .stream(Pieces(Bench.megabyte, of: 10_007))))
      try bench.expect("the body", request.body, is: Bench.megabyte)
      try bench.expect("Content-Length", request.header("Content-Length"), is: nil)
      try bench.expect("Transfer-Encoding", request.headers(named: "Transfer-Encoding"), is: ["chunked"])
    },
    streamCase("uploads an empty stream") { bench in
      for length in [nil, 0] as [Int64?] {
        let request = try await bench.arrival(of: .post("", body: .stream(Pieces(Data(), of: 1), length: length)))
        try bench.expect("the body", request.body, is: Data())
        try bench.expect("the whole request", request.isComplete)
      }
    },
    streamCase("completes no request whose stream differs from its announced length") { bench in
      for length in [0, 999, 1001] as [Int64] {
        let server = try MockServer(.ok())
        let body = HTTPBody.stream(Pieces(Bench.bytes(1000), of: 100), length: length)
        let outcome = try await bench.outcome(of: .post(RequestTarget(server.url), body: body))
        try bench.expectError([.invalidRequest], in: outcome)
        try await bench.expectClosed(server)
        try bench.expect("no whole request", server.requests.allSatisfy { !$0.isComplete })
      }
    },
    streamCase("receives while it sends") { bench in
      let server = try MockServer(.echoWhileReading)
      let (pieces, source) = AsyncStream.makeStream(of: Data.self)
      let sent = (0..<20).map { Data("piece \($0)".utf8) }
      source.yield(sent[0])
      let request = HTTPRequest.post(RequestTarget(server.url), body: .stream(pieces))
      let received = try await bench.client.stream(request) { response in
        var received: [Data] = []
        for try await piece in response.body {
          received.append(piece)
          if received.count < sent.count { source.yield(sent[received.count]) } else { source.finish() }
        }
        return received
      }
      try bench.expect("the pieces", received, is: sent)
    },
    streamCase("delivers a response that arrives while a stream has no data") { bench in
      let server = try MockServer(.ok(), options: .init(earlyAnswer: { _ in .status(413, body: "too large") }))
      let (pieces, source) = AsyncStream.makeStream(of: Data.self)
      source.yield(Data("x".utf8))
      let response = try await bench.send(.post(RequestTarget(server.url), body: .stream(pieces)))
      source.finish()
      try bench.expect(response, 413, "too large")
    },
    streamCase("ends the exchange when it is cancelled while a stream has no data") { bench in
      let server = try MockServer(.ok())
      let (pieces, source) = AsyncStream.makeStream(of: Data.self)
      source.yield(Data("x".utf8))
      let task = Task { try await bench.client.send(.post(RequestTarget(server.url), body: .stream(pieces))) }
      try bench.expect("a request", await server.waitForRequests(1))
      try await expectCancelled(bench, task, server)
      source.finish()
    },
  ]

  private static func streamCase(
    _ name: String, _ body: @escaping @Sendable (ConformanceBench) async throws -> Void
  ) -> Case {
    var conformance = Case(name, body)
    conformance.needsBodyStreams = true
    return conformance
  }

  /// Bytes in chunks of one size.
  private struct Pieces: AsyncSequence, Sendable {
    let data: Data
    let size: Int

    init(_ data: Data, of size: Int) { (self.data, self.size) = (data, size) }

    struct AsyncIterator: AsyncIteratorProtocol {
      var rest: Data
      let size: Int

      mutating func next() async -> Data? {
        guard !rest.isEmpty else { return nil }
        defer { rest = rest.dropFirst(size) }
        return rest.prefix(size)
      }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: data, size: size) }
  }
}
