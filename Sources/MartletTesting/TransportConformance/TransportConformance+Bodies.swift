import Foundation
import Martlet

extension TransportConformance {
  /// The content and the end of a body (RFC 9112 §6.3).
  static let bodyCases: [Case] = [
    Case("delivers an empty body") { bench in
      let response = try await bench.answer(Bench.ok + "Content-Length: 0\r\n\r\n")
      try bench.expect("the status", response.status, is: .ok)
      try bench.expect("the body", response.body, is: Data())
    },
    .reads("delivers a body with a length", "hello", from: .raw(Bench.ok + "Content-Length: 5\r\n\r\nhello")),
    .reads(
      "delivers a chunked body", "hello, world",
      from: .raw(
        Bench.ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;x=y\r\n,\r\n006\r\n world\r\n0\r\n\r\n")),
    Case("delivers an empty chunked body") { bench in
      let response = try await bench.answer(Bench.ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
      try bench.expect("the body", response.body, is: Data())
    },
    .reads("delivers a body that ends with the connection", "hello", from: .raw(Bench.ok + "\r\nhello")),
    Case("delivers 1 MiB with a length") { bench in
      let response = try await bench.answer(.data(Bench.megabyte))
      try bench.expect("the body", response.body, is: Bench.megabyte)
    },
    Case("delivers 1 MiB in chunks of many sizes") { bench in
      var rest = Bench.megabyte
      var chunks: [Data] = []
      var size = 1
      while !rest.isEmpty {
        chunks.append(rest.prefix(size))
        rest = rest.dropFirst(size)
        size = size * 3 + 1
      }
      let message = MockResponse.Message(status: 200, body: .chunks(chunks, trailers: []))
      let response = try await bench.answer(.steps([.message(message)]))
      try bench.expect("the body", response.body, is: Bench.megabyte)
    },
    Case("expects no body after HEAD, regardless of the length") { bench in
      let server = try MockServer(script: [
        .raw(Bench.ok + "Content-Length: 1000\r\n\r\n", thenClose: false), .ok("next"),
      ])
      let head = try await bench.send(.head(RequestTarget(server.url)))
      let next = try await bench.send(.get(RequestTarget(server.url)))
      try bench.expect("the body", head.body, is: Data())
      try bench.expect("Content-Length", head.headers["Content-Length"], is: "1000")
      try bench.expect("the next body", next.text, is: "next")
    },
    Case("expects no body after 204") { bench in
      try await expectNoBody(bench, after: "HTTP/1.1 204 No Content\r\n\r\n", status: 204)
    },
    Case("expects no body after 304, regardless of the length") { bench in
      try await expectNoBody(bench, after: "HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\n\r\n", status: 304)
    },
    .reads(
      "tolerates trailer fields", "hello",
      from: .chunked(["hello"], trailers: ["X-Checksum": "1", "X-Other": "2"])),
    Case("decodes gzip and removes the fields of the encoded form") { bench in
      let coded = Data(base64Encoded: "H4sIAAAAAAAC/8tNLCrJSS1RyB2lR+lRepQepUdpEmgATlQvjEAGAAA=") ?? Data()
      let response = try await bench.answer(.data(coded, headers: ["Content-Encoding": "gzip", "X-Kept": "yes"]))
      try bench.expect("the body", response.text, is: String(repeating: "martlet ", count: 200))
      try bench.expect("Content-Encoding", response.headers["Content-Encoding"], is: nil)
      try bench.expect("Content-Length", response.headers["Content-Length"], is: nil)
      try bench.expect("X-Kept", response.headers["X-Kept"], is: "yes")
    },
  ]

  /// Checks that a response has no body, and that the next request succeeds.
  private static func expectNoBody(_ bench: ConformanceBench, after head: String, status: HTTPStatus) async throws {
    let server = try MockServer(script: [.raw(head, thenClose: false), .ok("next")])
    let response = try await bench.send(.get(RequestTarget(server.url)))
    let next = try await bench.send(.get(RequestTarget(server.url)))
    try bench.expect("the status", response.status, is: status)
    try bench.expect("the body", response.body, is: Data())
    try bench.expect("the next body", next.text, is: "next")
  }
}
